//! What the system's name services know beyond its own files: accounts and hosts.
//!
//! On Linux `getent` is asked: a program that is linked statically cannot load the modules that know, and some of them
//! end it when it tries. It is never found through `PATH`, gets no environment, and what it is asked for is never an
//! option. `world` runs nothing itself: [`look_up_accounts`] tells it whom to ask.

use std::io;
use std::net::{IpAddr, SocketAddr};

use guard_system::LOOK_UP;

use crate::exec::tool::Tool;
use crate::world::identity::Account;

/// From here on, accounts that `/etc/passwd` does not hold are looked up with the name services.
pub fn look_up_accounts() {
    if !LOOK_UP.is_empty() {
        Account::look_up_with(|key| ask("passwd", key));
    }
}

/// What a database of the name services says of a key, a line an entry. Nothing, when it does not know.
///
/// # Errors
/// There is no `getent`, or it does not run.
fn ask(database: &str, key: &str) -> io::Result<Vec<u8>> {
    Ok(Tool::at_one_of(LOOK_UP)?.args([database, "--", key]).alone([]).output()?.stdout)
}

/// Where a host is to be found, best first. A name is looked up, which may wait.
///
/// # Errors
/// The host is not known.
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
