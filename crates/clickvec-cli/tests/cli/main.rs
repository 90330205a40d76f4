//! The program as users see it: one binary, temporary folders, exit codes and messages.

mod bad_input;
mod demo;
mod embed;
mod evaluate;
mod explain;
mod field;
mod forms;
mod frozen;
mod fusion;
mod harness;
mod help;
mod index;
mod inspect;
mod interrupt;
mod pipes;
mod places;
mod prepare;
mod rankers;
mod resume;
mod search;
mod simulate;
mod table;
mod table_inputs;
mod table_stopped;
mod titles;
mod train;
