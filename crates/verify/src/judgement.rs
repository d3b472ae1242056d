//! What is said of the rows that an operator gives.

use super::rule::Rule;
use bound::Norm;
use datafusion::arrow::compute::SortOptions;
use datafusion::physical_expr::PhysicalExpr;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Columns, by their places.
pub(crate) type Places = BTreeSet<usize>;

/// What is said of an operator's rows, where they lie, and by which rule.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) rows: Rows,
    pub(crate) placed: Placed,
    pub(crate) rule: Rule,
}

#[derive(Clone, Debug)]
pub(crate) enum Rows {
    /// No private row is read. No two rows agree in all columns of one of these sets.
    Public { unique: Vec<Places> },
    /// Each row carries its owner, and the rows of an owner are a function of the owner's rows and of public rows, as a multiset.
    Owned(Owned),
    /// The same, where the columns of the owner hold a key of this name: the owner of a row is that of the row with the key.
    Linked(Owned, String),
    /// States of aggregates of such rows, or of what the bounding operator gives: a final aggregate has to follow.
    States(Box<States>),
    /// What the bounding operator gives: keys, and numbers whose sums by key are bounded totals.
    Contributions(Contributions),
    /// The distinct values of groups: a count of them has to follow.
    Values(Owned),
    /// Numbers of groups, each a sum over units.
    Totals(Totals),
}

#[derive(Clone, Debug)]
pub(crate) struct Owned {
    pub(crate) owner: Owner,
    /// Whether each row is somebody's.
    pub(crate) named: bool,
    /// Of an owner at most so many rows agree in these columns.
    pub(crate) at_most: Vec<AtMost>,
    /// The rows of an owner have at most so many different values of these columns.
    pub(crate) kinds: Vec<AtMost>,
    /// What is known of each column.
    pub(crate) columns: Vec<Known>,
    /// What is NULL in no row.
    pub(crate) present: Vec<Arc<dyn PhysicalExpr>>,
    /// Columns that are computed of others, which are there too.
    pub(crate) computed: Vec<(usize, Arc<dyn PhysicalExpr>)>,
    /// Columns in which no two rows agree, each with the name of the key by which rows of other tables lead here.
    pub(crate) keys: Vec<(usize, String)>,
    /// Whether these are rows of a scan as they are: here identifiers are read, each by its own function.
    pub(crate) read: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Each of these columns names the owner.
    Columns(Places),
    /// Each row has an owner, and no column says which: each row of the table is one unit, or the column was left out on the way. The model's rows carry it still.
    Hidden,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AtMost {
    pub(crate) most: u64,
    pub(crate) of: Places,
}

/// What is known of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Known {
    /// Every value that is not NULL lies between these integers.
    pub(crate) between: Option<(i64, i64)>,
    /// It is the same in all rows.
    pub(crate) constant: bool,
    /// It is the place of a row, from 1.
    pub(crate) place: Option<Place>,
}

/// Among which rows a place is one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// Of one owner's rows that agree in these columns, no two have the same place.
    Row(Places),
    /// One owner's rows have the same place exactly where they agree in these columns.
    Group(Places),
}

#[derive(Clone, Debug)]
pub(crate) struct States {
    pub(crate) input: Rows,
    /// The places of the groups in the input, and what was computed of each.
    pub(crate) groups: Vec<usize>,
    pub(crate) calls: Vec<Call>,
}

/// An aggregate over rows of groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    /// Rows.
    Rows,
    /// Values that are not NULL in a column.
    Present(usize),
    /// The sum of a column of 64-bit integers, modulo 2⁶⁴.
    Sum(usize),
    /// Something of a group's rows that does not depend on their order.
    Other(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Contributions {
    pub(crate) keys: usize,
    pub(crate) numbers: Vec<Bound>,
}

/// How far one unit can move a number of the totals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// In at most so many groups, and in each it adds something between these ends.
    /// Where the length of its numbers over all groups is bounded, in this norm, by so much.
    Groups {
        groups: u64,
        low: i128,
        high: i128,
        length: Option<(Norm, u64)>,
    },
    /// A number of all units, a part of which stands in any group's row: a unit adds between 0 and so much.
    All { most: u64 },
    /// A count of distinct values: in at most so many groups, in each by at most so much, and in all of them by at most `all`.
    Values {
        groups: u64,
        most: u64,
        all: Option<u64>,
    },
    /// A count of rows of the last group's column, a bin: an owner has at most so many groups, without the bin, in each so many rows, and `all` of them together.
    Bins {
        groups: u64,
        most: u64,
        all: Option<u64>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Totals {
    /// Which column of the plan is which: a key, or a number with what is known of it.
    pub(crate) columns: Vec<Total>,
    pub(crate) grouped: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Total {
    Key,
    /// As a number of its groups; and as bins, where the last key is the bin.
    Number {
        groups: Option<Bound>,
        bins: Option<Bound>,
    },
}

/// Where rows lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placed {
    /// All of them are in one part.
    pub(crate) single: bool,
    /// Rows that agree in these columns are in one part.
    pub(crate) together: Option<Places>,
    /// Each part is sorted like this.
    pub(crate) order: Vec<(Arc<dyn PhysicalExpr>, SortOptions)>,
}

impl Placed {
    /// All rows in one part, in any order.
    pub(crate) fn single() -> Self {
        Self {
            single: true,
            ..Self::default()
        }
    }

    /// Whether all rows that agree in these columns are in one part.
    pub(crate) fn holds_groups(&self, of: &Places) -> bool {
        let within = self.together.as_ref().map(|together| together.is_subset(of));
        self.single || within.unwrap_or(false)
    }
}

impl Owned {
    /// Rows of which nothing else is known.
    pub(crate) fn by(owner: Owner, columns: usize) -> Self {
        Self {
            owner,
            named: false,
            at_most: Vec::new(),
            kinds: Vec::new(),
            columns: vec![Known::default(); columns],
            present: Vec::new(),
            computed: Vec::new(),
            keys: Vec::new(),
            read: false,
        }
    }

    pub(crate) fn owners(&self) -> Option<&Places> {
        match &self.owner {
            Owner::Columns(columns) => Some(columns),
            Owner::Hidden => None,
        }
    }

    /// Whether a column names the owner.
    pub(crate) fn is_owner(&self, column: usize) -> bool {
        self.owners().is_some_and(|owners| owners.contains(&column))
    }

    /// Of one owner at most this many rows agree in these columns. Rows that agree in more agree in less.
    pub(crate) fn rows_in(&self, columns: &Places) -> Option<u64> {
        let within = self.at_most.iter().filter(|fact| fact.of.is_subset(columns));
        within.map(|fact| fact.most).min()
    }

    /// One owner's rows have at most this many different values of these columns.
    pub(crate) fn groups_of(&self, columns: &Places) -> Option<u64> {
        let columns: Places = columns
            .iter()
            .copied()
            .filter(|column| !self.is_owner(*column))
            .collect();
        if columns.is_empty() {
            return Some(1);
        }
        let kinds = self.kinds.iter().filter(|fact| columns.is_subset(&fact.of));
        // So many rows have no more kinds.
        kinds
            .map(|fact| fact.most)
            .chain(self.rows_in(&Places::new()))
            .min()
    }

    /// What the limits say of columns that are elsewhere now: there are no more rows that agree in as many, and no more values of fewer.
    pub(crate) fn limits(&self, to: &dyn Fn(usize) -> Option<usize>) -> (Vec<AtMost>, Vec<AtMost>) {
        let all = |fact: &AtMost| {
            let of = fact.of.iter().filter(|from| !self.is_owner(**from));
            let of = of.map(|from| to(*from)).collect::<Option<Places>>()?;
            Some(AtMost { of, ..fact.clone() })
        };
        let some = |fact: &AtMost| AtMost {
            of: fact.of.iter().filter_map(|from| to(*from)).collect(),
            ..fact.clone()
        };
        let kinds = self.kinds.iter().map(some).filter(|fact| !fact.of.is_empty());
        (self.at_most.iter().filter_map(all).collect(), kinds.collect())
    }

    /// Takes note that one owner has at most so many rows that agree in these columns. All of them agree in the owner.
    pub(crate) fn add_rows(&mut self, most: u64, of: &Places) {
        let of = of
            .iter()
            .copied()
            .filter(|column| !self.is_owner(*column))
            .collect();
        self.at_most.push(AtMost { most, of });
    }

    /// Takes note that one owner has at most so many different values of these columns.
    pub(crate) fn add_kinds(&mut self, most: u64, of: &Places) {
        self.kinds.push(AtMost { most, of: of.clone() });
    }
}
