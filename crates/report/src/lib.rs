//! Output for people: figures, tables of text, and pages of HTML, for the command line, servers and
//! notebooks.
//!
//! Everything is drawn from values that are public by then. A page is one file without external assets, and a
//! figure leaves out values that have no place on its axes. Callers give text and numbers, never markup, so
//! everything they give is escaped.
//!
//! ```
//! use report::{Column, Figure, Page, Row, Scale, Table};
//!
//! let mut table = Table::new([Column::Left("city"), Column::Right("people")]);
//! table.row(["Oslo", "709"]);
//! assert_eq!(table.to_string(), "city  people\n────  ──────\nOslo     709\n");
//!
//! let figure = Figure::new("error by ε")
//!     .x_axis("ε", Scale::Log10)
//!     .line("error", &[(0.1, 30.0), (1.0, 3.0)]);
//! let mut page = Page::new("A count", "How far it is off.");
//! page.row(Row::new("1", "the error falls with ε", "3.0", "2.9", true).figure(figure));
//! assert!(page.to_html().contains("<svg"));
//! ```

mod figure;
mod findings;
mod markup;
mod number;
mod page;
mod table;

pub use figure::{Effect, Figure, HeatMap, Scale, Whisker, bar, figure_style, forest, histogram};
pub use findings::Findings;
pub use markup::{escape, legal};
pub use number::{counts, grouped, percent, percent_interval, significant};
pub use page::{Page, Row};
pub use table::{Column, DynamicTable, Heading, Table, cut};
