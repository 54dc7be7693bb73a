//! Selects the channels of a request, by tier, origin, session, directory, rule and time of day.
//!
//! Out of scope: the channels themselves.

use jiff::Zoned;
use jiff::civil::Weekday;

use crate::config::{Config, Hours, Route};
use crate::judge::risk::Tier;
use crate::store::queue::Pending;

/// Returns the channels of a request, in order, and whether all receive it at once.
#[must_use]
pub fn route(config: &Config, pending: &Pending, now: &Zoned) -> Route {
    let found = config.route.iter().find(|route| matches(route, pending) && is_time(route, pending, now)).cloned();
    let mut route = found.unwrap_or_else(|| {
        let mut channels: Vec<_> = config.channel.iter().collect();
        // The sort is stable: channels of one kind stay in the order of the file.
        channels.sort_by_key(|channel| channel.kind.default_order());
        Route { channels: channels.into_iter().map(|channel| channel.name.clone()).collect(), ..Route::default() }
    });
    if is_urgent(pending) {
        // An urgent request goes to all channels, including those that the route omits.
        route.broadcast = true;
        let others = config.channel.iter().map(|channel| &channel.name).filter(|name| !route.channels.contains(name));
        let others: Vec<String> = others.cloned().collect();
        route.channels.extend(others);
    }
    route
}

/// Reports whether a request is sent to all channels at once: one of tier 4, or one that needs a person's decision.
#[must_use]
pub fn is_urgent(pending: &Pending) -> bool {
    pending.tier == Tier::Critical || pending.decision
}

/// Reports whether a route applies at this time. Its hours begin on one of its days and may extend past midnight.
fn is_time(route: &Route, pending: &Pending, now: &Zoned) -> bool {
    // A route without channels (quiet hours) never applies to urgent requests.
    if is_urgent(pending) && route.channels.is_empty() {
        return false;
    }
    let on = |day: Weekday| route.days.is_empty() || route.days.iter().any(|known| known.0 == day);
    let (today, time) = (now.weekday(), now.time());
    match route.hours {
        None => on(today),
        Some(Hours { from, until }) if from <= until => on(today) && from <= time && time < until,
        Some(Hours { from, until }) => (on(today) && from <= time) || (on(today.previous()) && time < until),
    }
}

fn matches(route: &Route, pending: &Pending) -> bool {
    let below = |directory: &str| {
        let rest = pending.cwd.strip_prefix(directory.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    (route.tiers.is_empty() || route.tiers.contains(&pending.tier.number()))
        && (route.origins.is_empty() || route.origins.contains(&pending.origin))
        && route.session.as_deref().is_none_or(|part| pending.session.contains(part))
        && route.directory.as_deref().is_none_or(below)
        && route.rule.as_deref().is_none_or(|rule| pending.why.split(':').next() == Some(rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::{changed, pending};
    use jiff::civil::date;
    use jiff::tz::TimeZone;

    /// Returns a configuration with two channels and these routes.
    fn parsed(routes: &str) -> Config {
        let channels = ["phone", "team"]
            .map(|name| format!("[[channel]]\nname = \"{name}\"\nkind = \"program\"\ncommand = [\"/bin/true\"]\n"));
        Config::parse(&(channels.concat() + routes)).unwrap()
    }

    fn config() -> Config {
        let text = "
            [[route]]
            tiers = [3]
            directory = \"/srv\"
            channels = [\"team\"]
            [[route]]
            rule = \"packages.new\"
            origins = [\"agent\"]
            channels = [\"phone\"]
            broadcast = true
        ";
        parsed(text)
    }

    /// Returns noon of a Wednesday.
    fn noon() -> Zoned {
        at(25, 12)
    }

    fn at(day: i8, hour: i8) -> Zoned {
        date(2026, 11, day).at(hour, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap()
    }

    #[test]
    fn an_on_call_list_goes_by_weekday_and_hour() {
        let text = "
            [[route]]
            days = [\"mon\", \"tue\", \"wed\", \"thu\", \"fri\"]
            hours = \"09:00-17:00\"
            channels = [\"team\"]
            [[route]]
            days = [\"wed\"]
            hours = \"22:00-06:00\"
            channels = []
            [[route]]
            channels = [\"phone\"]
        ";
        let config = parsed(text);
        let to = |now: &Zoned| route(&config, &pending(), now).channels;
        assert_eq!(to(&at(25, 9)), ["team"]);
        assert_eq!(to(&at(25, 17)), ["phone"], "the end is not in it");
        assert_eq!(to(&at(28, 12)), ["phone"], "a Saturday");
        assert_eq!(to(&at(25, 23)), [""; 0], "quiet");
        assert_eq!(to(&at(26, 5)), [""; 0], "quiet still, past midnight");
        assert_eq!(to(&at(25, 5)), ["phone"], "of Tuesday's night");
        let urgent = changed(pending(), |one| {
            one.decision = true;
        });
        assert_eq!(route(&config, &urgent, &at(25, 23)).channels, ["phone", "team"]);
        for odd in ["9-17", "09:00", "25:00-03:00", "09:00-09:00"] {
            assert!(Config::parse(&format!("[[route]]\nhours = \"{odd}\"")).is_err(), "{odd}");
        }
        assert!(Config::parse("[[route]]\ndays = [\"moday\"]").unwrap_err().to_string().contains("mon"));
    }

    #[test]
    fn without_a_route_the_kinds_have_an_order_and_a_route_has_its_own() {
        let channel = |name: &str, rest: &str| format!("[[channel]]\nname = \"{name}\"\n{rest}\n");
        let program = "kind = \"program\"\ncommand = [\"/bin/true\"]";
        let secret = "{ file = \"/run/secret\" }";
        let sms = format!("kind = \"twilio\"\naccount = \"a\"\ntoken = {secret}\nfrom = \"+1\"\nto = [\"+2\"]");
        let discord = format!("kind = \"discord\"\ntoken = {secret}\nchat = \"5\"\napprovers = {{}}");
        let telegram = format!("kind = \"telegram\"\ntoken = {secret}\nchat = 5\napprovers = {{}}");
        let channels = [
            channel("sms", &sms),
            channel("desk", "kind = \"desktop\"\napprover = \"ada\""),
            channel("second", program),
            channel("first", program),
            channel("dc", &discord),
            channel("tg", &telegram),
        ]
        .concat();
        let to =
            |routes: &str| route(&Config::parse(&(channels.clone() + routes)).unwrap(), &pending(), &noon()).channels;
        assert_eq!(to(""), ["tg", "dc", "second", "first", "desk", "sms"]);
        assert_eq!(to("[[route]]\nchannels = [\"sms\", \"tg\"]"), ["sms", "tg"]);
    }

    #[test]
    fn what_a_person_decides_is_told_everywhere_at_once() {
        let decision = changed(pending(), |one| {
            one.decision = true;
            one.why = "x: y".to_owned();
            one.cwd = "/srv".to_owned();
            one.tier = Tier::High;
        });
        let route = route(&config(), &decision, &noon());
        assert!(route.broadcast);
        assert_eq!(route.channels, ["team", "phone"]);
    }

    #[test]
    fn the_first_route_that_matches_counts() {
        let config = config();
        let to = |pending: Pending| route(&config, &pending, &noon()).channels;
        assert_eq!(to(pending()), ["phone"]);
        assert_eq!(
            to(changed(pending(), |one| {
                one.origin = "api".to_owned();
            })),
            ["phone", "team"],
            "else all, in order"
        );
        let high = |cwd: &str| {
            changed(pending(), |one| {
                one.tier = Tier::High;
                one.why = "x: y".to_owned();
                one.cwd = cwd.to_owned();
            })
        };
        assert_eq!(to(high("/srv/www")), ["team"]);
        assert_eq!(to(high("/srv")), ["team"]);
        assert_eq!(to(high("/srvx")), ["phone", "team"]);
    }

    #[test]
    fn tier_4_is_told_everywhere_at_once() {
        let critical = changed(pending(), |one| {
            one.tier = Tier::Critical;
            one.why = String::new();
        });
        assert!(route(&config(), &critical, &noon()).broadcast);
        assert!(
            !route(
                &config(),
                &changed(pending(), |one| {
                    one.why = String::new();
                }),
                &noon()
            )
            .broadcast
        );
        assert!(route(&config(), &pending(), &noon()).broadcast, "where the route says so");
    }
}
