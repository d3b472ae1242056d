//! The SVG itself: layout from the outside in, then marks.
//!
//! There are no `id`s, so that several figures can stand in one page.

use std::fmt::Write as _;

use super::axis::{Axis, Floor};
use super::legend::{Entry, Legend};
use super::marks::Shape;
use super::style::{class_of, colour_class};
use super::text::{BOLD, LINE_HEIGHT, width, wrap};
use super::{Dimension, Figure};
use crate::markup::escape;

pub(super) const FIGURE_WIDTH: f64 = 720.0;
/// As wide as a phone, without its margins.
pub(super) const NARROW_WIDTH: f64 = 360.0;
const PLOT_HEIGHT: f64 = 300.0;
const MARGIN: f64 = 16.0;
const TITLE_SIZE: f64 = 16.0;
const LABEL_SIZE: f64 = 13.0;
const TICK_SIZE: f64 = 12.0;

/// A series that has something to draw.
struct Drawn<'a> {
    name: &'a str,
    colour: usize,
    shape: Shape,
}

/// Where the plotting area lies, and the axes along it.
struct Frame {
    left: f64,
    top: f64,
    width: f64,
    x: Axis,
    y: Axis,
}

impl Frame {
    fn across(&self, coordinate: f64) -> f64 {
        self.left + self.width * self.x.fraction(coordinate)
    }

    fn down(&self, coordinate: f64) -> f64 {
        self.top + PLOT_HEIGHT * (1.0 - self.y.fraction(coordinate))
    }

    fn right(&self) -> f64 {
        self.left + self.width
    }

    fn bottom(&self) -> f64 {
        self.top + PLOT_HEIGHT
    }
}

/// Draws `figure`, so wide.
pub(super) fn svg(figure: &Figure, style: Option<&str>, across: f64) -> String {
    let mut drawn = drawable(figure);
    let inner_width = across - 2.0 * MARGIN;
    let title = wrap(&figure.title, TITLE_SIZE * BOLD, inner_width);
    let legend = Legend::lay_out(&entries(&drawn), LABEL_SIZE, inner_width);
    let head = TITLE_SIZE * LINE_HEIGHT * title.len() as f64;
    let top = MARGIN + head + legend.height() + 14.0;

    let y_label = wrap(&figure.vertical.label, LABEL_SIZE, PLOT_HEIGHT);
    let frame = frame(figure, &drawn, across, top, y_label.len());
    let x_label = wrap(&figure.horizontal.label, LABEL_SIZE, frame.width);
    let below_ticks = frame.bottom() + TICK_SIZE * 2.0;
    let height = below_ticks + LABEL_SIZE * LINE_HEIGHT * x_label.len() as f64 + MARGIN;

    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"deniable-figure\" viewBox=\"0 0 {} {}\" width=\"100%\" \
         role=\"img\" aria-label=\"{}\">\n{}<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
        number(across),
        number(height),
        escape(&figure.title),
        style.map_or_else(String::new, |style| format!("<style>{style}</style>\n")),
    );
    lines_of_text(
        &mut out,
        &title,
        MARGIN,
        MARGIN + TITLE_SIZE,
        TITLE_SIZE,
        "class=\"ink\" font-weight=\"600\"",
    );
    legend.draw(&mut out, MARGIN, MARGIN + head + 6.0);
    axes(&mut out, &frame);
    let middle = frame.left + frame.width / 2.0;
    let centred = "class=\"ink\" text-anchor=\"middle\"";
    lines_of_text(
        &mut out,
        &x_label,
        middle,
        below_ticks + LABEL_SIZE,
        LABEL_SIZE,
        centred,
    );
    if !y_label.is_empty() {
        // Turned about the origin, the text runs upwards and its lines step to the right.
        let _ = write!(out, "<g transform=\"rotate(-90)\">");
        lines_of_text(
            &mut out,
            &y_label,
            -(top + PLOT_HEIGHT / 2.0),
            MARGIN + LABEL_SIZE,
            LABEL_SIZE,
            centred,
        );
        out.push_str("</g>\n");
    }
    if drawn.is_empty() {
        let note = ["no data".to_string()];
        let centred = "class=\"quiet\" text-anchor=\"middle\"";
        lines_of_text(
            &mut out,
            &note,
            middle,
            top + PLOT_HEIGHT / 2.0,
            LABEL_SIZE,
            centred,
        );
    }
    drawn.sort_by_key(|series| series.shape.layer());
    for series in &drawn {
        let _ = write!(out, "<g class=\"{}\">", colour_class(series.colour));
        marks(&mut out, series, &frame);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// A length for SVG: finite by construction, and no longer than a screen can show.
pub(super) fn number(length: f64) -> String {
    let written = format!("{length:.2}");
    let written = written.trim_end_matches('0').trim_end_matches('.');
    if written == "-0" {
        "0".to_string()
    } else {
        written.to_string()
    }
}

/// The outline of a marker around a point; the form differs by series, for readers who do not see the
/// colours.
pub(super) fn marker(x: f64, y: f64, radius: f64, series: usize) -> String {
    let (cx, cy, r) = (number(x), number(y), number(radius));
    let (side, full) = (number(radius * 0.9), number(radius * 1.8));
    match series % 4 {
        0 => format!(
            "M{cx} {cy}m-{r} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0-{d} 0z",
            d = number(2.0 * radius)
        ),
        1 => format!("M{cx} {cy}m-{side}-{side}h{full}v{full}h-{full}z"),
        2 => {
            let r = number(radius * 1.25);
            format!("M{cx} {cy}m0-{r}l{r} {r}l-{r} {r}l-{r}-{r}z")
        }
        _ => {
            let (rise, half, wide) = (number(radius * 1.2), number(radius * 1.15), number(radius * 2.3));
            format!("M{cx} {cy}m0-{rise}l{half} {}h-{wide}z", number(radius * 2.0))
        }
    }
}

fn drawable(figure: &Figure) -> Vec<Drawn<'_>> {
    let mut names: Vec<&str> = Vec::new();
    let mut drawn = Vec::new();
    for series in &figure.series {
        let name = series.name.as_str();
        let known = names.iter().position(|other| *other == name && !name.is_empty());
        let colour = known.unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        if let Some(shape) = series.marks.shape(figure.horizontal.scale, figure.vertical.scale) {
            drawn.push(Drawn { name, colour, shape });
        }
    }
    drawn
}

/// The legend's entries: one a name, and none at all when there is nothing to tell apart.
fn entries<'a>(drawn: &'a [Drawn<'a>]) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    for series in drawn.iter().filter(|series| !series.name.is_empty()) {
        match entries.iter_mut().find(|entry| entry.name == series.name) {
            Some(entry) => entry.shapes.push(&series.shape),
            None => entries.push(Entry {
                name: series.name,
                colour: series.colour,
                shapes: vec![&series.shape],
            }),
        }
    }
    if entries.len() > 1 { entries } else { Vec::new() }
}

fn frame(figure: &Figure, drawn: &[Drawn<'_>], across: f64, top: f64, y_label_lines: usize) -> Frame {
    let bars = drawn.iter().any(|series| matches!(series.shape, Shape::Bars(_)));
    let floor = if bars { Floor::Bars } else { Floor::Free };
    let ys: Vec<f64> = drawn
        .iter()
        .flat_map(|series| series.shape.vertical_coordinates())
        .collect();
    let Dimension { scale, most, .. } = figure.vertical;
    let ceiling = most.and_then(|most| scale.coordinate(most));
    let y = Axis::fit(scale, floor, ceiling, &ys, PLOT_HEIGHT, |_| TICK_SIZE * 2.2);

    let widest = y
        .ticks
        .iter()
        .map(|tick| width(&tick.label, TICK_SIZE))
        .fold(0.0, f64::max);
    let beside = if y_label_lines == 0 {
        0.0
    } else {
        LABEL_SIZE * LINE_HEIGHT * y_label_lines as f64 + 8.0
    };
    let left = MARGIN + beside + widest + 8.0;

    let xs: Vec<f64> = drawn
        .iter()
        .flat_map(|series| series.shape.horizontal_coordinates())
        .collect();
    let label_width = |label: &str| width(label, TICK_SIZE) + 14.0;
    let fit = |room: f64| Axis::fit(figure.horizontal.scale, Floor::Free, None, &xs, room, label_width);
    // Half of the last label may stand out to the right of the plot.
    let room = across - left - MARGIN;
    let last = fit(room)
        .ticks
        .last()
        .map_or(0.0, |tick| width(&tick.label, TICK_SIZE) / 2.0);
    let plot_width = room - (last - MARGIN / 2.0).max(0.0);
    Frame {
        left,
        top,
        width: plot_width,
        x: fit(plot_width),
        y,
    }
}

fn axes(out: &mut String, frame: &Frame) {
    let vertical = |x: f64| format!("M{} {}V{}", number(x), number(frame.top), number(frame.bottom()));
    let horizontal = |y: f64| format!("M{} {}H{}", number(frame.left), number(y), number(frame.right()));
    let grid = |xs: &[f64], ys: &[f64]| {
        let mut lines: String = xs.iter().map(|x| vertical(frame.across(*x))).collect();
        lines.extend(ys.iter().map(|y| horizontal(frame.down(*y))));
        lines
    };
    let at = |axis: &Axis| axis.ticks.iter().map(|tick| tick.at).collect::<Vec<_>>();
    let minor = grid(&frame.x.minor, &frame.y.minor);
    if !minor.is_empty() {
        let _ = writeln!(out, "<path class=\"grid\" opacity=\".45\" d=\"{minor}\"/>");
    }
    let _ = writeln!(
        out,
        "<path class=\"grid\" d=\"{}\"/>",
        grid(&at(&frame.x), &at(&frame.y))
    );
    let _ = writeln!(out, "<path class=\"axis\" d=\"{}\"/>", horizontal(frame.bottom()));
    let _ = write!(
        out,
        "<g class=\"quiet\" font-size=\"{TICK_SIZE}\" text-anchor=\"middle\">"
    );
    for tick in &frame.x.ticks {
        let (x, y) = (
            number(frame.across(tick.at)),
            number(frame.bottom() + TICK_SIZE * 1.5),
        );
        let _ = write!(out, "<text x=\"{x}\" y=\"{y}\">{}</text>", escape(&tick.label));
    }
    let _ = write!(
        out,
        "</g>\n<g class=\"quiet\" font-size=\"{TICK_SIZE}\" text-anchor=\"end\">"
    );
    for tick in &frame.y.ticks {
        let (x, y) = (
            number(frame.left - 8.0),
            number(frame.down(tick.at) + TICK_SIZE * 0.35),
        );
        let _ = write!(out, "<text x=\"{x}\" y=\"{y}\">{}</text>", escape(&tick.label));
    }
    out.push_str("</g>\n");
}

fn marks(out: &mut String, series: &Drawn<'_>, frame: &Frame) {
    let (mut path, class) = (String::new(), class_of(&series.shape));
    match &series.shape {
        Shape::Bars(bars) => {
            for bar in bars {
                let (left, right) = (number(frame.across(bar.left)), number(frame.across(bar.right)));
                let (foot, top) = (number(frame.down(bar.foot)), number(frame.down(bar.top)));
                let _ = write!(path, "M{left} {foot}V{top}H{right}V{foot}z");
            }
        }
        Shape::Lines(runs) => {
            for run in runs {
                trace(
                    &mut path,
                    'M',
                    run.iter().map(|(x, y)| (frame.across(*x), frame.down(*y))),
                );
                if run.len() == 1 {
                    // A line of one point has no length; a dash shows that it is there.
                    path.push_str("m-3 0h6");
                }
            }
        }
        Shape::Points(points) => {
            let radius = if points.len() > 200 { 2.2 } else { 3.6 };
            path.extend(
                points
                    .iter()
                    .map(|(x, y)| marker(frame.across(*x), frame.down(*y), radius, series.colour)),
            );
        }
        Shape::Bands(runs) => {
            for run in runs {
                if let [(x, low, high)] = run[..] {
                    // An interval of its own has no width; a narrow box shows that it is there.
                    let left = number(frame.across(x) - 3.0);
                    let (foot, top) = (number(frame.down(low)), number(frame.down(high)));
                    let _ = write!(path, "M{left} {foot}V{top}h6V{foot}z");
                    continue;
                }
                trace(
                    &mut path,
                    'M',
                    run.iter()
                        .map(|(x, _, high)| (frame.across(*x), frame.down(*high))),
                );
                trace(
                    &mut path,
                    'L',
                    run.iter()
                        .rev()
                        .map(|(x, low, _)| (frame.across(*x), frame.down(*low))),
                );
                path.push('z');
            }
        }
        Shape::Whiskers(intervals) => {
            for (x, low, high) in intervals {
                let (x, low, high) = (
                    number(frame.across(*x)),
                    number(frame.down(*low)),
                    number(frame.down(*high)),
                );
                let _ = write!(path, "M{x} {low}m-4 0h8m-4 0V{high}m-4 0h8");
            }
        }
        Shape::Beyond(intervals) => {
            for (x, from, to) in intervals {
                let (x, from, to) = (
                    number(frame.across(*x)),
                    number(frame.down(*from)),
                    number(frame.down(*to)),
                );
                let _ = write!(path, "M{x} {from}V{to}m-4 0h8");
            }
        }
        Shape::Vertical(x) => {
            let _ = write!(
                path,
                "M{} {}V{}",
                number(frame.across(*x)),
                number(frame.bottom()),
                number(frame.top)
            );
        }
        Shape::Horizontal(y) => {
            let _ = write!(
                path,
                "M{} {}H{}",
                number(frame.left),
                number(frame.down(*y)),
                number(frame.right())
            );
        }
    }
    let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
}

fn trace(path: &mut String, first: char, points: impl Iterator<Item = (f64, f64)>) {
    for (index, (x, y)) in points.enumerate() {
        let command = if index == 0 { first } else { 'L' };
        let _ = write!(path, "{command}{} {}", number(x), number(y));
    }
}

/// Writes `lines` below each other, the first with its baseline at `y`.
pub(super) fn lines_of_text(out: &mut String, lines: &[String], x: f64, y: f64, size: f64, attributes: &str) {
    for (index, line) in lines.iter().enumerate() {
        let baseline = number(y + size * LINE_HEIGHT * index as f64);
        let x = number(x);
        let _ = writeln!(
            out,
            "<text {attributes} x=\"{x}\" y=\"{baseline}\" font-size=\"{size}\">{}</text>",
            escape(line)
        );
    }
}
