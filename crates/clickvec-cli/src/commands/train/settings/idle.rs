//! Flags that would change nothing, because there is nothing of what they are about.

use anyhow::{Result, bail};

use super::{Given, Settings};

impl Settings {
    /// Refuses a flag that would change nothing of a training on what is `given`.
    pub(super) fn refuse_idle(&self, given: Given) -> Result<()> {
        let Given { titles, vectors, scores, .. } = given;
        let has_pairs = given.clicks || given.scores_alone;
        if titles && !has_pairs {
            let of_clicks = [
                ("--epochs", self.epochs.is_some(), Some("--title-epochs")),
                ("--minibatch", self.minibatch.is_some(), Some("--title-minibatch")),
                ("--gamma", self.gamma.is_some(), Some("--title-gamma")),
                ("--learning-rate", self.learning_rate.is_some(), Some("--title-learning-rate")),
                ("--augment", self.augment.is_some(), Some("--title-views")),
                ("--weighting", self.weighting.is_some(), None),
                ("--titles-among-clicks", self.titles_among_clicks.is_some(), None),
                ("--teacher-share", self.teacher_share.is_some() && vectors, Some("--teacher-title-share")),
            ];
            match of_clicks.iter().find(|(_, given, _)| *given) {
                Some((flag, _, Some(instead))) => {
                    bail!("`{flag}` is about learning from clicks, found titles alone; use `{instead}`")
                }
                Some((flag, ..)) => {
                    bail!(
                        "`{flag}` is about learning from clicks, found titles alone; leave it out or add `--clicks FILE`"
                    )
                }
                None => {}
            }
        }
        if self.teacher_title_share.is_some() && vectors && !titles {
            bail!("`--teacher-title-share` is about training on titles; add `--titles FILE`");
        }
        let share = [
            ("--teacher-start", self.teacher_start.is_some()),
            ("--teacher-start-share", self.teacher_start_share.is_some()),
            ("--teacher-share", self.teacher_share.is_some()),
            ("--teacher-title-share", self.teacher_title_share.is_some()),
        ];
        if let (Some((flag, _)), true, false) = (share.iter().find(|(_, given)| *given), scores, vectors) {
            bail!(
                "`{flag}` is about a teacher's vectors, found scores alone; use `--teacher-score-share` or add \
                 `--teacher FILE` with vectors"
            );
        }
        if self.teacher_score_share.is_some() && vectors && !scores {
            bail!(
                "`--teacher-score-share` is about a teacher's scores, found vectors alone; leave it out or add \
                 `--teacher FILE` with the columns query, title and score"
            );
        }
        Ok(())
    }
}
