//! The client of a request, and the share of each client: a number of texts a second, and as many at once as a batch may have.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::fault::Fault;

/// When this many clients are known, those that have their whole share are forgotten.
const KNOWN: usize = 65_536;

/// The longest time that Retry-After gives.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The client of a request, and the time when the request began.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) client: String,
    pub(crate) started: Instant,
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, Fault> {
        parts.extensions.get().cloned().ok_or_else(|| Fault::internal(&"a request without its client"))
    }
}

/// The remaining share of each client.
pub(crate) struct Clients {
    /// Texts a second; 0 is no limit.
    rate: f64,
    /// Texts at once.
    burst: f64,
    left: Mutex<HashMap<String, Left>>,
}

struct Left {
    texts: f64,
    at: Instant,
}

impl Clients {
    pub(crate) fn new(rate: f64, batch: usize) -> Clients {
        Clients { rate, burst: rate.max(batch as f64), left: Mutex::default() }
    }

    /// Takes `texts` from a client's share, or says how long it must wait.
    pub(crate) fn take(&self, client: &str, texts: usize, now: Instant) -> Result<(), Duration> {
        if self.rate == 0.0 {
            return Ok(());
        }
        let texts = texts as f64;
        let mut all = self.left.lock().expect("no holder panics");
        if all.len() >= KNOWN && !all.contains_key(client) {
            all.retain(|_, left| self.now(left, now) < self.burst);
            if all.len() >= KNOWN {
                all.clear();
            }
        }
        let left = all.entry(client.to_owned()).or_insert(Left { texts: self.burst, at: now });
        *left = Left { texts: self.now(left, now), at: now };
        if left.texts < texts {
            let wait = (texts - left.texts) / self.rate;
            return Err(Duration::try_from_secs_f64(wait).map_or(LONGEST, |wait| wait.min(LONGEST)));
        }
        left.texts -= texts;
        Ok(())
    }

    fn now(&self, left: &Left, now: Instant) -> f64 {
        let since = now.saturating_duration_since(left.at).as_secs_f64();
        (left.texts + since * self.rate).min(self.burst)
    }
}

/// Returns the name of a client by its address. Who has one address of IPv6 has a whole network of them, so the network is the client.
pub(crate) fn name(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            format!("{}/64", Ipv6Addr::from_bits(address.to_bits() >> 64 << 64))
        }
        address => address.to_string(),
    }
}

/// Returns the last address of the header X-Forwarded-For, which may have brackets and a port.
pub(crate) fn forwarded(header: &str) -> Option<IpAddr> {
    let last = header.rsplit(',').next()?.trim();
    let with_port = || last.parse::<SocketAddr>().ok().map(|address| address.ip());
    let in_brackets = || last.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    last.parse().ok().or_else(with_port).or_else(in_brackets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_one_name() {
        let named = |header| forwarded(header).map(name);
        for (header, expected) in [
            ("203.0.113.7", Some("203.0.113.7")),
            ("10.0.0.1, 203.0.113.7:4711", Some("203.0.113.7")),
            ("::ffff:203.0.113.7", Some("203.0.113.7")),
            ("[::ffff:203.0.113.7]:80", Some("203.0.113.7")),
            ("2001:db8:1:2:3:4:5:6", Some("2001:db8:1:2::/64")),
            ("[2001:db8:1:2:ffff::1]:443", Some("2001:db8:1:2::/64")),
            ("[2001:db8:1:3::1]", Some("2001:db8:1:3::/64")),
            ("::1", Some("::1")),
            ("unknown", None),
            ("", None),
            ("203.0.113.7, _hidden", None),
        ] {
            assert_eq!(named(header).as_deref(), expected, "{header}");
        }
    }

    #[test]
    fn each_client_has_a_share_of_its_own() {
        let (clients, start) = (Clients::new(2.0, 4), Instant::now());
        assert_eq!(clients.take("a", 4, start), Ok(()));
        assert_eq!(clients.take("a", 1, start), Err(Duration::from_millis(500)));
        assert_eq!(clients.take("b", 4, start), Ok(()));
        assert_eq!(clients.take("a", 1, start + Duration::from_millis(500)), Ok(()));
        // No more is saved than a batch.
        let later = start + Duration::from_secs(3600);
        assert_eq!(clients.take("a", 5, later), Err(Duration::from_millis(500)));
        assert_eq!(Clients::new(0.0, 1).take("a", 1_000_000, start), Ok(()));
        // A share that takes longer than time can be counted.
        assert_eq!(Clients::new(f64::MIN_POSITIVE, 1).take("a", 2, start), Err(LONGEST));
    }

    #[test]
    fn what_is_remembered_of_clients_is_bounded() {
        let (clients, start) = (Clients::new(1.0, 1), Instant::now());
        for client in 0..KNOWN + 10 {
            let _ = clients.take(&client.to_string(), 1, start);
        }
        assert!(clients.left.lock().unwrap().len() <= KNOWN);
    }
}
