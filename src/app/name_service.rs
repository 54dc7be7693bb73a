//! Looks up accounts and hosts with the system's name services.
//!
//! On Linux this runs `getent`: a statically linked program cannot load the modules of the name services, and some of
//! them crash it. `getent` is not searched for in `PATH`, gets no environment, and never gets a key that looks like an
//! option. `world` runs no programs itself: [`look_up_accounts`] gives it the function to call.

use std::io;
use std::net::{IpAddr, SocketAddr};

use guard_system::LOOK_UP;

use crate::exec::tool::Tool;
use crate::world::identity::Account;

/// From now on, accounts that are not in `/etc/passwd` are looked up with the name services.
pub fn look_up_accounts() {
    if !LOOK_UP.is_empty() {
        Account::look_up_with(|key| ask("passwd", key));
    }
}

/// Returns the entries of a key in a database of the name services, one per line. Empty if there are none.
///
/// # Errors
/// There is no `getent`, or it does not run.
fn ask(database: &str, key: &str) -> io::Result<Vec<u8>> {
    Ok(Tool::at_one_of(LOOK_UP)?.args([database, "--", key]).alone([]).output()?.stdout)
}

/// Returns the addresses of a host, best first. Looking up a name may take time.
///
/// # Errors
/// The host is unknown.
pub(super) fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let unknown = || io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    let found = match host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => looked_up(host, port).map_err(|_| unknown())?,
    };
    if found.is_empty() { Err(unknown()) } else { Ok(found) }
}

fn looked_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Some(found) = guard_system::addresses(host, port) {
        return found;
    }
    let answer = ask("ahosts", host)?;
    let mut found: Vec<SocketAddr> = Vec::new();
    for address in
        String::from_utf8_lossy(&answer).lines().filter_map(|line| line.split_whitespace().next()?.parse().ok())
    {
        let address = SocketAddr::new(address, port);
        if !found.contains(&address) {
            found.push(address);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_by_its_address_and_by_its_name_and_one_that_is_none_is_named() {
        assert_eq!(addresses("127.0.0.1", 514).unwrap(), ["127.0.0.1:514".parse().unwrap()]);
        assert!(addresses("localhost", 1).unwrap().iter().all(|address| address.ip().is_loopback()));
        let error = addresses("-not a host-", 1).unwrap_err();
        assert_eq!(error.to_string(), "-not a host- has no address");
    }
}
