//! The names of analysts.
//!
//! A share limits one person only if that person has one name. So names that look the same are the same. A
//! name is normalised wherever it comes in: in rules, with charges, and from entries that an earlier version
//! wrote. What two spellings spent counts together.
//!
//! Normalising has limits: letters of different alphabets may look alike (a Latin and a Cyrillic *a*), and
//! anybody may make up a name. So if the rules list any analyst, an analyst who is not listed has no share.

use crate::Error;
use icu_casemap::CaseMapper;
use icu_normalizer::ComposingNormalizer;
use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;
use std::fmt;

/// The name of an analyst in its one spelling.
///
/// ```
/// use ledger::Analyst;
///
/// let ann = Analyst::named("ann")?;
/// for spelling in ["Ann", "  ANN ", "a\u{200b}nn", "Ａｎｎ"] {
///     assert_eq!(Analyst::named(spelling)?, ann);
/// }
/// assert_eq!(Analyst::named("Ann  Lee")?.name(), "ann lee");
/// assert!(Analyst::named(" \u{200b} ").is_err());
/// # Ok::<(), ledger::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Analyst(String);

impl Analyst {
    /// The analyst that is called so, in whatever spelling.
    ///
    /// # Errors
    /// When nothing is left of the name.
    pub fn named(name: &str) -> Result<Self, Error> {
        match normalised(name) {
            name if name.is_empty() => Err(Error::Nameless),
            name => Ok(Self(name)),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Analyst {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// One spelling for all that look the same: compatible characters become one (Unicode's NFKC), upper and
/// lower case are one, what is not seen is left out, and white space is one space between words. It may be
/// empty.
pub(crate) fn normalised(name: &str) -> String {
    // Each step may make work for one before it. A few rounds are enough for everything in Unicode; should
    // they not be, the name is still a function of what was given.
    let mut text = once(name);
    for _ in 0..ROUNDS {
        let again = once(&text);
        if again == text {
            break;
        }
        text = again;
    }
    text
}

const ROUNDS: usize = 8;

fn once(text: &str) -> String {
    let unseen = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let seen = |character: &char| {
        character.is_whitespace() || !(character.is_control() || unseen.contains(*character))
    };
    let text: String = text.chars().filter(seen).collect();
    let nfkc = ComposingNormalizer::new_nfkc();
    let folded = CaseMapper::new().fold_string(&nfkc.normalize(&text)).into_owned();
    let words: Vec<&str> = folded.split_whitespace().collect();
    nfkc.normalize(&words.join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_are_one() {
        for (spelling, name) in [
            ("ann", "ann"),
            ("Ann", "ann"),
            (" \tann\n", "ann"),
            ("ann\u{a0}\u{3000} lee", "ann lee"),
            ("a\u{200b}n\u{ad}n\u{feff}", "ann"),
            ("\u{202e}ann\u{2069}", "ann"),
            ("a\u{7}nn", "ann"),
            ("Ａｎｎ", "ann"),
            ("e\u{301}ve", "éve"),
            ("ÉVE", "éve"),
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("ΣΟΦΟΣ", "σοφοσ"),
            ("σοφος", "σοφοσ"),
            ("ﬁona", "fiona"),
            ("ann\u{fe0f}", "ann"),
            ("李", "李"),
            ("\u{200b}", ""),
            (" \u{2060} ", ""),
            ("", ""),
        ] {
            assert_eq!(normalised(spelling), name, "{spelling:?}");
        }
        assert_ne!(normalised("annlee"), normalised("ann lee"));
        assert_eq!(Analyst::named("\u{200d}"), Err(Error::Nameless));
        assert!(Error::Nameless.to_string().contains("\nhint: "));
    }

    proptest! {
        #[test]
        fn once_is_enough(name in "\\PC{0,8}|[ -~\u{200b}\u{ad}\u{300}-\u{345}İıſßΣς]{0,12}") {
            let name = normalised(&name);
            prop_assert_eq!(normalised(&name), name);
        }
    }

    /// Every character of the planes in which letters and what is not seen are.
    #[test]
    fn once_is_enough_for_every_character() {
        let planes = ('\0'..='\u{3400}')
            .chain('\u{a000}'..='\u{abff}')
            .chain('\u{f900}'..='\u{1ffff}');
        for character in planes
            .chain('\u{2f800}'..='\u{2fa1f}')
            .chain('\u{e0000}'..='\u{e0fff}')
        {
            let name = normalised(&format!("A{character}b"));
            assert_eq!(once(&name), name, "{character:?}");
        }
    }
}
