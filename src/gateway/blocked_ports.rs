//! Ports that browsers refuse to open because other protocols use them: the "bad ports" of the Fetch standard.
//!
//! Out of scope: the addresses that the gateway listens on.

/// All bad ports, sorted.
const REFUSED: [u16; 84] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080, 65_535,
];

/// Returns a warning if browsers refuse to open the port.
#[must_use]
pub fn warning(port: u16) -> Option<String> {
    let is_refused = REFUSED.binary_search(&port).is_ok();
    is_refused.then(|| format!("browsers refuse to open port {port}; use another port for the page"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_browsers_refuse_is_known() {
        assert!(REFUSED.is_sorted());
        for port in [22, 6000, 6667, 10080] {
            assert!(warning(port).unwrap().contains(&port.to_string()));
        }
        for port in [80, 443, crate::config::PORT, 6001, 8080] {
            assert_eq!(warning(port), None, "{port}");
        }
    }
}
