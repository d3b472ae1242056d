//! The published optimum, reached. ResidualPlanner and its extension state these errors for Adult's 14 attributes at privacy cost 1.

use accounting::{Neighbors, PrivacyUnit, Promise, Rho};
use tables::{Attribute, Domain, Form, Limits, Plan, Weights, Workload};

const ADULT: [u32; 14] = [100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2];

fn adult(ordered: usize) -> Domain {
    let attribute = |(place, size): (usize, &u32)| {
        let attribute = Attribute::new(format!("attribute {place}"), *size).unwrap();
        if place < ordered {
            attribute.ordered()
        } else {
            attribute
        }
    };
    Domain::new(ADULT.iter().enumerate().map(attribute).collect()).unwrap()
}

/// Privacy cost 1 is μ = 1: ρ = ½.
fn plan(least: usize, most: usize, forms: &[Form]) -> Plan {
    let domain = adult(forms.len());
    let workload = Workload::all_ways(&domain, least, most, forms, Weights::Cells).unwrap();
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let half = Promise::Concentrated(Rho::parse("0.5").unwrap());
    Plan::new(domain, workload, half, 1, &unit, Limits::default()).unwrap()
}

/// Integers cost at most 0.04 % of the error, half of what a variance loses in rounding to 12 bits.
fn reaches(plan: &Plan, published: f64) {
    let error = plan.root_mean_squared_error();
    assert!(
        error > published * 0.9995 && error < published * 1.0005 + 5e-4,
        "{error} against {published}"
    );
}

#[test]
fn marginals_reach_the_published_optimum() {
    reaches(&plan(1, 1, &[]), 3.047);
    reaches(&plan(2, 2, &[]), 6.359);
    reaches(&plan(3, 3, &[]), 10.515);
    reaches(&plan(0, 3, &[]), 10.665);
}

/// ResidualPlanner+ states 45.174, and 61.613 for HDMM. Its strategy for one attribute gives the total no weight beyond what the attribute alone needs; ours may.
#[test]
fn prefixes_beat_the_published_plan() {
    let error = plan(0, 3, &[Form::Prefixes; 5]).root_mean_squared_error();
    assert!(error < 43.7, "{error}");
}
