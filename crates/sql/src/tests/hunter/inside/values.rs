//! Values that are put in canonical form and on grids by expressions of PostgreSQL's, against those of this program.

use super::connection;
use crate::tests::movement::runtime;
use tokio_postgres::NoTls;

/// What PostgreSQL calls normal is what this program calls normal, on every character there is and next to others.
#[test]
fn texts_are_normalised_as_here() {
    let mut texts: Vec<String> = Vec::new();
    for code in 1..=0x10_ffff_u32 {
        let Some(character) = char::from_u32(code) else {
            continue;
        };
        let plain = character as u32 >= 0x2_0000 && character as u32 <= 0xe_0000;
        let ideograph = (0x3400..0x4db0).contains(&code) || (0x4e00..0x9ff0).contains(&code);
        if !ideograph && (!plain || code % 251 == 0 || (0x2_f800..0x2_fa20).contains(&code)) {
            texts.push(format!("a{character}\u{301}\u{323}{character}"));
        }
    }
    let found: Vec<String> = runtime().block_on(async {
        let (client, task) = tokio_postgres::connect(&connection(), NoTls).await.unwrap();
        tokio::spawn(task);
        let normal = crate::run::pushdown_normal_text("t");
        let sql = format!("SELECT {normal} FROM unnest($1::text[]) WITH ORDINALITY AS u(t, n) ORDER BY n");
        let rows = client.query(&sql, &[&texts]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    });
    assert!(texts.len() > 60_000 && texts.len() == found.len());
    let wrong = texts
        .iter()
        .zip(&found)
        .find(|(text, found)| bound::canonical_text(text) != **found);
    assert_eq!(wrong, None);
}

/// Floats are put on grids as here, on those at the ends of what floats and integers hold too, and raise no error.
#[test]
fn floats_are_put_on_grids_as_here() {
    let mut floats = vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    for exponent in -1074..1024 {
        let power = 2f64.powi(exponent);
        for value in [
            power,
            power.next_up(),
            power.next_down(),
            1.5 * power,
            2.5 * power,
        ] {
            floats.extend([value, -value].into_iter().filter(|value| value.is_finite()));
        }
    }
    let ends = [-1000, -999, -63, -62, -1, 0, 1, 14, 62, 63, 897, 898, 999, 1000];
    let exponents = ends.into_iter().chain(957..=965);
    let wide = 1i64 << 62;
    let ranges = [
        (0, 0),
        (-5, 5),
        (3, 3_276_800),
        (-wide, wide),
        (-wide - 1, wide),
        (-wide, wide + 1),
        (i64::MIN, i64::MAX),
    ];
    runtime().block_on(async {
        let (client, task) = tokio_postgres::connect(&connection(), NoTls).await.unwrap();
        tokio::spawn(task);
        for exponent in exponents {
            for (low, high) in ranges {
                let grid = bound::ValueGrid {
                    kind: crate::values::facts::Kind::Float,
                    exponent,
                    low,
                    high,
                };
                let written = crate::run::pushdown_float_on_grid("x", exponent, &grid, "");
                let sql = format!(
                    "SELECT {written} FROM unnest($1::float8[]) WITH ORDINALITY AS u(x, n) ORDER BY n"
                );
                let rows = client.query(&sql, &[&floats]).await.unwrap();
                for (value, row) in floats.iter().zip(&rows) {
                    let expected = value.is_finite().then(|| grid.place_of(*value));
                    assert_eq!(row.get::<_, Option<i64>>(0), expected, "{value:e} {grid:?}");
                }
            }
        }
    });
}
