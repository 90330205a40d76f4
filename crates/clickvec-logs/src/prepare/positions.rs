//! The weight of a click at each position.

use clickvec::click_model::{PositionCell, fit_positions};

use crate::gather::{Gathered, QueryGroup};
use crate::report::{Position, PositionReport};
use crate::{Error, ErrorKind, Result};

/// A weighting of clicks by their position; see [`clickvec::click_model::PositionModel::weights`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PositionWeighting {
    /// The upper limit of the inverse of how often a position is looked at.
    pub clip: f64,
    /// The trust in the logged ranking: the power of a position's attraction.
    pub trust: f64,
}

/// Fits the click model to all rows. Returns the weights by position, and a report.
pub(super) fn fit(gathered: &Gathered, weighting: PositionWeighting) -> Result<(Vec<f64>, PositionReport)> {
    let model = fit_positions(|each| -> Result<()> {
        let (mut reader, mut group) = (gathered.read()?, QueryGroup::default());
        let (mut query, mut cells) = (0, Vec::new());
        while reader.next(&mut group)? {
            query += 1;
            for title in &group.titles {
                cells.clear();
                cells.extend(title.cells.iter().map(|cell| PositionCell {
                    position: usize::from(cell.position),
                    shown: cell.shown,
                    clicks: cell.clicks,
                }));
                each(query, &cells);
            }
        }
        Ok(())
    })?;
    let Some(model) = model else {
        return Err(no_positions("no clicked pair of a query and a title that was shown at two comparable positions"));
    };
    if model.totals.iter().all(|(shown, clicks)| shown == clicks) {
        return Err(no_positions("no rows of titles that were shown and not clicked"));
    }
    let weights = model.weights(weighting.clip, weighting.trust);
    let known = |position: &usize| model.totals[*position].0 > 0;
    let positions = (0..weights.len()).filter(known).map(|position| Position {
        position,
        shown: model.totals[position].0,
        clicks: model.totals[position].1,
        examination: model.examination[position],
        standard_error: model.standard_errors[position],
        attraction: model.attraction[position],
        weight: weights[position],
    });
    let report = PositionReport {
        positions: positions.collect(),
        reference: model.reference,
        clip: weighting.clip,
        trust: weighting.trust,
        iterations: model.iterations,
    };
    Ok((weights, report))
}

/// Creates the error of a log to which no click model can be fitted.
fn no_positions(found: &'static str) -> Error {
    let expected = "rows of titles that were shown, clicked or not, at several positions";
    Error::expected(ErrorKind::Empty, expected, found).help("do not correct position bias")
}
