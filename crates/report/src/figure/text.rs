//! How much room text takes. SVG cannot measure it, so it is estimated, on the generous side.

/// The distance between baselines, in font sizes.
pub(super) const LINE_HEIGHT: f64 = 1.3;

/// The width of `text` at font size `size`, in the same unit.
///
/// The advances are those of a wide sans-serif face, because the reader's `system-ui` is unknown: a narrower
/// face leaves a little more air, and none overlaps.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let em = |character: char| match character {
        '\u{300}'..='\u{36f}' => 0.0,
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | ' ' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' => 0.43,
        '⁰'..='⁹' | '¹' | '²' | '³' | '⁻' => 0.45,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.98,
        '…' | '—' => 1.0,
        '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}' | '\u{1f000}'..='\u{1ffff}' => 1.1,
        '=' | '<' | '>' | '+' | '−' | '±' | '×' | '≤' | '≥' | '≈' => 0.84,
        upper if upper.is_uppercase() => 0.74,
        _ => 0.64,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// How much wider bold letters are, at most.
pub(super) const BOLD: f64 = 1.16;

/// `text` broken into lines no wider than `room`: between words, and inside a word only when it alone is too
/// wide.
///
/// Empty text has no lines.
pub(super) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let longer = if line.is_empty() {
            word.to_string()
        } else {
            format!("{line} {word}")
        };
        if width(&longer, size) <= room {
            line = longer;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for character in word.chars() {
            line.push(character);
            if width(&line, size) > room && line.chars().count() > 1 {
                line.pop();
                lines.push(std::mem::replace(&mut line, character.to_string()));
            }
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{BOLD, width, wrap};

    #[test]
    fn lines_fit_and_lose_no_word() {
        let text =
            "the probability that a noisy count of ε-differentially private releases is off by more than ten";
        for room in [60.0, 150.0, 400.0] {
            let lines = wrap(text, 12.0, room);
            assert!(
                lines
                    .iter()
                    .all(|line| width(line, 12.0) <= room || !line.contains(' ')),
                "{lines:?}"
            );
            assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        }
    }

    /// Advances of DejaVu Sans Bold, about the widest face that a system shows titles in.
    #[test]
    fn bold_titles_fit_a_wide_face() {
        let advance = |character: char| match character {
            'i' | 'l' | 'j' => 0.343,
            ' ' | '.' | ',' | ':' => 0.4,
            'f' => 0.435,
            't' => 0.478,
            'r' => 0.493,
            'c' | 's' => 0.595,
            'm' => 1.042,
            'w' => 0.924,
            'e' | 'a' | 'o' => 0.687,
            '=' => 0.838,
            '…' => 1.0,
            upper if upper.is_uppercase() => 0.83,
            _ => 0.716,
        };
        let room = 688.0;
        for title in [
            "Private training with Poisson batches of 100 of 10,000, as the budget is used up",
            "Where the lowest bit of a textbook answer stands, on 0 and on 1, and on the other one",
            "10,000 surveys of 100 people, true fraction 0.2, 1000000000 draws of noise of 100000",
            "bbbb pppp dddd qqqq gggg bbbb pppp dddd qqqq gggg bbbb pppp dddd qqqq gggg bbbb pppp",
        ] {
            let lines = wrap(title, 16.0 * BOLD, room);
            for line in &lines {
                let drawn = line.chars().map(advance).sum::<f64>() * 16.0;
                assert!(drawn <= room, "{line}: {drawn}");
            }
            assert_eq!(lines.join(" "), title);
        }
    }

    #[test]
    fn a_word_wider_than_the_room_is_cut() {
        let lines = wrap(&"x".repeat(100), 10.0, 64.0);
        assert!(lines.len() >= 10);
        assert_eq!(lines.concat().len(), 100);
    }

    #[test]
    fn no_text_no_lines_and_no_room_still_ends() {
        assert!(wrap("  ", 12.0, 100.0).is_empty());
        assert_eq!(wrap("abc", 12.0, 0.0), ["a", "b", "c"]);
    }
}
