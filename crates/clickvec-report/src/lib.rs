//! Reports for readers: aligned text for a terminal, and self-contained HTML pages.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`report`] | blocks that become text or a page |
//! | [`page`] | the frame of every page |
//! | [`comparison`] | tables of systems that were judged, and of the tests between them |
//! | [`explanation`] | the frame of pages about models, with heat maps and filters |
//! | [`numbers`] | differences and p-values |
//! | [`superscripts`] | letters that mark significant differences |

pub mod comparison;
pub mod explanation;
pub mod numbers;
pub mod page;
pub mod report;
pub mod superscripts;
