//! The program as users see it: one binary, temporary folders, exit codes and messages.

mod bad_input;
mod build;
mod changes;
#[cfg(feature = "serve")]
mod compare;
mod demo;
mod dimension;
mod embed;
mod evaluate;
mod explain;
mod explain_rank;
mod explain_topics;
mod export;
mod field;
mod forms;
mod frozen;
mod full;
mod gate;
mod harness;
mod held_out;
mod help;
mod index;
mod inspect;
mod inspect_tables;
#[cfg(feature = "serve")]
mod interface;
mod interrupt;
mod judge;
#[cfg(target_os = "linux")]
mod memory;
mod mistaken;
mod pipes;
mod places;
mod prepare;
mod prepare_private;
mod prepare_refused;
mod rankers;
mod resume;
mod search;
#[cfg(feature = "serve")]
mod serve;
mod simulate;
mod table;
mod table_inputs;
mod table_stopped;
mod teacher;
mod title_forms;
mod titles;
mod train;
mod train_refused;
mod update;
mod weighting;
mod words;
