//! Dates, times and durations of RFC 3339.
//!
//! A leap second is the last of a day in UTC, so the local time with its offset must be 23:59:60Z. That ties the offset to the hour and
//! minute, which an automaton has to remember: with any offset it has some 16,000 states, with the offsets of the real world, which are
//! multiples of 15 minutes, a tenth of that.

/// Returns the pattern of `date`, without anchors like those below.
pub(super) fn date() -> String {
    let months = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)";
    let any_year = format!("[0-9]{{4}}-(?:{months}|02-(?:0[1-9]|1[0-9]|2[0-8]))");
    // Two digits that four divides, with and without 00.
    let of_century = "(?:0[48]|[2468][048]|[13579][26])";
    let century = "(?:[02468][048]|[13579][26])";
    format!("(?:{any_year}|(?:[0-9]{{2}}{of_century}|{century}00)-02-29)")
}

/// Returns the pattern of `time`.
pub(super) fn time() -> String {
    const DAY: u32 = 24 * 60;
    const OFFSET_STEP: usize = 15;
    let (hour, minute, fraction) = ("(?:[01][0-9]|2[0-3])", "[0-5][0-9]", "(?:\\.[0-9]+)?");
    let clock = |minutes: u32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    let mut choices = vec![format!("{hour}:{minute}:{minute}{fraction}(?:[Zz]|[+-]{hour}:{minute})")];
    for offset in (0..DAY).step_by(OFFSET_STEP) {
        // East of Greenwich the local time is ahead by the offset; west of it, behind by what is left of the day.
        let local = clock((DAY - 1 + offset) % DAY);
        let (east, west) = (clock(offset), clock((DAY - offset) % DAY));
        let utc = if offset == 0 { "[Zz]|" } else { "" };
        choices.push(format!("{local}:60{fraction}(?:{utc}\\+{east}|-{west})"));
    }
    format!("(?:{})", choices.join("|"))
}

/// Returns a pattern of all that `time` matches and of leap seconds anywhere.
pub(super) fn outer_time() -> String {
    let (hour, minute) = ("(?:[01][0-9]|2[0-3])", "[0-5][0-9]");
    format!("(?:{hour}:{minute}:(?:{minute}|60)(?:\\.[0-9]+)?(?:[Zz]|[+-]{hour}:{minute}))")
}

/// Returns the pattern of `date-time`.
pub(super) fn date_time() -> String {
    format!("{}[Tt]{}", date(), time())
}

/// Returns a pattern of all that `date-time` matches and of leap seconds anywhere.
pub(super) fn outer_date_time() -> String {
    format!("{}[Tt]{}", date(), outer_time())
}

/// Returns the pattern of `duration`.
pub(super) fn duration() -> String {
    let n = "[0-9]+";
    let time = format!("T(?:{n}H(?:{n}M(?:{n}S)?)?|{n}M(?:{n}S)?|{n}S)");
    let date = format!("(?:{n}D|{n}M(?:{n}D)?|{n}Y(?:{n}M(?:{n}D)?)?)");
    format!("P(?:{date}(?:{time})?|{time}|{n}W)")
}
