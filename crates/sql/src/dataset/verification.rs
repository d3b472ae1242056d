//! What the verifier derives of a query's plans, for people: whose rows each operator gives and by which rule, and how far one unit moves each number, computed twice.

use crate::Error;
use crate::catalog::Catalog;
use crate::dataset::explain::any_key;
use crate::price::question::Question;
use crate::run::engine::bounded_plans;
use crate::run::engines::Engines;
use crate::run::exact::judged;
use crate::understand::mistakes::readable;
use exact::to_f64_nearest;
use mechanism::Sensitivity;
use report::{Column, Table, significant};
use serde::Serialize;
use verify::Node;

/// What was derived of a query, plan by plan. A query over public tables alone has no plan.
#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    /// The engine's plans.
    pub plans: Vec<VerifiedPlan>,
    /// How long it took to verify them, once they were planned.
    pub milliseconds: f64,
}

/// What was derived of one plan.
#[derive(Clone, Debug, Serialize)]
pub struct VerifiedPlan {
    /// Its operators, from the last to the scans.
    pub tree: Judgement,
    /// What is released of it.
    pub numbers: Vec<ComputedTwice>,
}

/// What holds of the rows of an operator.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// The operator.
    pub operator: String,
    /// Whose rows it gives.
    pub says: String,
    /// The rule, by the name of its proof.
    pub rule: &'static str,
    /// Its inputs.
    pub inputs: Vec<Judgement>,
}

/// How far one unit moves a number in all groups, computed by the code that makes the noise and by the code that read the plan.
#[derive(Clone, Debug, Serialize)]
pub struct ComputedTwice {
    /// Which part of the query it is of, from 1.
    pub part: usize,
    /// What it is.
    pub name: String,
    /// As the noise is made for.
    pub priced: Movement,
    /// As the plan enforces.
    pub verified: Movement,
}

/// How far one unit moves a number.
#[derive(Clone, Debug, Serialize)]
pub struct Movement {
    /// In how many groups.
    pub coordinates: u64,
    /// In ℓ₁.
    pub l1: f64,
    /// In ℓ₂.
    pub l2: f64,
    /// In one group.
    pub l_infinity: f64,
}

impl Movement {
    fn of(sensitivity: &Sensitivity, step: f64) -> Self {
        Self {
            coordinates: sensitivity.coordinates(),
            l1: to_f64_nearest(sensitivity.l1()) * step,
            l2: to_f64_nearest(sensitivity.l2_squared()).sqrt() * step,
            l_infinity: to_f64_nearest(sensitivity.l_infinity()) * step,
        }
    }
}

impl From<&Node> for Judgement {
    fn from(node: &Node) -> Self {
        Self {
            operator: node.operator.clone(),
            says: node.says.clone(),
            rule: node.rule.proof(),
            inputs: node.inputs.iter().map(Self::from).collect(),
        }
    }
}

/// What is derived of a question. Reads nothing.
pub(crate) async fn verification(
    question: &Question,
    engines: &Engines,
    catalog: &Catalog,
) -> Result<Verification, Error> {
    let asked = bounded_plans(question.measured(), &question.cuts, &any_key()?)?;
    let (verified, elapsed) = judged(asked, question, engines, catalog).await?;
    let plans = verified.trees().zip(verified.claims());
    let plans = plans.map(|(tree, claims)| VerifiedPlan {
        tree: tree.into(),
        numbers: claims
            .into_iter()
            .filter_map(|(drawn, priced, verified)| computed_twice(question, drawn, (priced, verified)))
            .collect(),
    });
    Ok(Verification {
        plans: plans.collect(),
        milliseconds: elapsed.as_secs_f64() * 1e3,
    })
}

fn computed_twice(
    question: &Question,
    drawn: usize,
    (priced, verified): (&Sensitivity, &Sensitivity),
) -> Option<ComputedTwice> {
    let aggregations = question.measured();
    let part = (0..aggregations.len()).rfind(|place| question.first_drawn(*place) <= drawn)?;
    let statistic = aggregations[part]
        .statistics
        .get(drawn - question.first_drawn(part))?;
    let step = statistic.steps.size();
    Some(ComputedTwice {
        part: part + 1,
        name: readable(&statistic.name),
        priced: Movement::of(priced, step),
        verified: Movement::of(verified, step),
    })
}

impl Verification {
    /// Plan by plan: the tree, and the numbers.
    pub fn to_text(&self) -> String {
        if self.plans.is_empty() {
            return "verified: nothing private is read\n".to_owned();
        }
        let mut text = String::new();
        for (place, plan) in self.plans.iter().enumerate() {
            let of = match self.plans.len() {
                1 => String::new(),
                plans => format!(", plan {} of {plans}", place + 1),
            };
            text += &format!("verified{of}: whose rows each operator gives, by which rule\n");
            plan.tree.write(1, &mut text);
            text += &format!(
                "\nhow far one unit moves each number, computed twice:\n{}",
                plan.table()
            );
            text += "\n";
        }
        text += &format!("verified in {} ms\n", significant(self.milliseconds, 2));
        text
    }
}

impl Judgement {
    fn write(&self, depth: usize, into: &mut String) {
        let indent = "  ".repeat(depth);
        *into += &format!("{indent}{}: {} [{}]\n", self.operator, self.says, self.rule);
        self.inputs.iter().for_each(|input| input.write(depth + 1, into));
    }
}

impl VerifiedPlan {
    fn table(&self) -> String {
        let mut table = Table::new([
            Column::Left("statistic"),
            Column::Right("groups"),
            Column::Right("verified"),
            Column::Right("Δ ℓ1"),
            Column::Right("verified"),
            Column::Right("Δ ℓ2"),
            Column::Right("verified"),
        ]);
        for number in &self.numbers {
            let (priced, verified) = (&number.priced, &number.verified);
            table.row([
                number.name.clone(),
                priced.coordinates.to_string(),
                verified.coordinates.to_string(),
                significant(priced.l1, 3),
                significant(verified.l1, 3),
                significant(priced.l2, 3),
                significant(verified.l2, 3),
            ]);
        }
        table.to_string()
    }
}
