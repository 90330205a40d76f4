//! The ranks of titles by a fusion, as its searches have them: each part finds titles, and adds nothing to the others.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use clickvec::index::Query;
use clickvec::internals::ranker::{FusionMember, fused_shares, fusion_members, sum_shares};
use clickvec::model::Side;
use clickvec::ranker::{self, FUSED_DEPTH, FusionMethod, Ranker};
use clickvec::tables::Title;

use super::super::models::{NamedModel, load};
use super::place::{Explained, Source, explained, scale};
use super::{Args, Part, Ranked, RankedBy, Share};
use crate::output;

/// A fusion of one model with BM25, trigrams or a teacher's vectors.
pub(super) struct Fused {
    model: NamedModel,
    method: FusionMethod,
    members: Vec<Member>,
}

struct Member {
    kind: RankedBy,
    weight: f64,
    ranker: Box<dyn Ranker>,
}

impl Fused {
    /// Reads a fusion's file.
    pub(super) fn load(path: &Path) -> Result<Fused> {
        let file = fusion_members(path)?;
        let name = |member: &FusionMember| member.system.as_ref().map_or("a model", |(name, _)| name);
        let of_kind = |(kind, wanted): (RankedBy, &str)| {
            let mut found = file.members.iter().filter(|member| name(member) == wanted);
            (kind, found.next(), found.count())
        };
        let kinds = [
            (RankedBy::Words, "bm25"),
            (RankedBy::Vectors, "a model"),
            (RankedBy::Trigrams, "trigram"),
            (RankedBy::Teacher, "vectors"),
        ];
        let found = kinds.map(of_kind);
        let known = found.iter().filter(|(_, first, _)| first.is_some()).count();
        let [_, (_, Some(model), 0), _, _] = found else { return refuse(path, &file.members, name) };
        if known != file.members.len() {
            return refuse(path, &file.members, name);
        }
        let member = |(kind, member, _): (RankedBy, Option<&FusionMember>, usize)| {
            let member = member.filter(|member| member.weight > 0.0)?;
            Some(ranker::load(&member.path).map(|ranker| Member { kind, weight: member.weight, ranker }))
        };
        let members = found.into_iter().filter_map(member).collect::<clickvec::Result<_>>()?;
        Ok(Fused { model: load(&model.path)?, method: file.method, members })
    }

    /// The titles that are asked for, best first. `None` if no part finds any.
    pub(super) fn rank(&self, args: &Args, titles: &[Title]) -> Result<Option<Ranked>> {
        let query = args.query.as_str();
        let texts: Vec<&str> = titles.iter().map(|title| title.title.as_str()).collect();
        let is_known = self.model.model.dictionary().knows_a_word(query);
        let asked = FUSED_DEPTH.max(args.top);
        let depth = asked.min(titles.len());
        let (mut parts, mut lists, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for Member { kind, weight, ranker } in &self.members {
            let hits = match (kind, is_known) {
                (RankedBy::Vectors, false) => Vec::new(),
                _ => {
                    let candidates = ranker.candidates(&texts)?;
                    let vector =
                        candidates.needs_vector().then(|| self.model.model.embedder(Side::Query).embed(&[query]));
                    candidates.search(&Query::new(query, vector.as_deref()), depth)?
                }
            };
            let adds = fused_shares(&hits, *weight, self.method, asked);
            let shares: Vec<(usize, Share)> = hits
                .iter()
                .zip(&adds)
                .map(|(hit, &(_, adds))| (hit.position as usize, Share { score: f64::from(hit.score), adds }))
                .collect();
            let of_list: Vec<Share> = shares.iter().map(|&(_, share)| share).collect();
            parts.push(Part { kind: *kind, weight: *weight, scale: scale(&of_list, self.method) });
            lists.push(shares);
            all.push(adds);
        }
        let order = sum_shares(&all);
        if order.is_empty() {
            return Ok(None);
        }
        let wanted = (1..)
            .zip(&order)
            .filter(|&(rank, hit)| super::place::is_wanted(args, rank, &titles[hit.position as usize]));
        let mut sources = Vec::new();
        for (rank, hit) in wanted {
            let title = hit.position as usize;
            let of_list =
                |list: &Vec<(usize, Share)>| list.iter().find(|(at, _)| *at == title).map(|&(_, share)| share);
            sources.push(Source { rank, title: titles[title].clone(), shares: lists.iter().map(of_list).collect() });
        }
        for id in &args.ids {
            let is_known = titles.iter().any(|title| title.id == *id);
            ensure!(is_known, "expected ids of titles, found no title with the id `{}`", output::printable(id));
        }
        check_ids(args, &sources, depth)?;
        let of_kind = |kind: RankedBy| {
            self.members.iter().find(|member| member.kind == kind).map(|member| member.ranker.as_ref())
        };
        let [bm25, trigrams, teacher] = [RankedBy::Words, RankedBy::Trigrams, RankedBy::Teacher].map(of_kind);
        let scores = Explained { bm25, trigrams, teacher };
        let (words, titles) = explained(query, &self.model.model, sources, &scores);
        Ok(Some(Ranked {
            query: query.to_owned(),
            words,
            model: self.model.title(),
            titles,
            of: texts.len(),
            parts,
            method: self.method,
            depth: Some(depth),
        }))
    }
}

fn refuse<T>(path: &Path, members: &[FusionMember], name: impl Fn(&FusionMember) -> &'static str) -> Result<T> {
    let found: Vec<&str> = members.iter().map(name).collect();
    bail!(
        "{}: expected a fusion of one model with bm25, trigram or vectors, found one of {}; give the model alone",
        output::path(path),
        found.join(", ")
    )
}

/// Refuses ids of titles that no part found.
pub(super) fn check_ids(args: &Args, found: &[Source], depth: usize) -> Result<()> {
    for id in &args.ids {
        ensure!(
            found.iter().any(|of| of.title.id == *id),
            "expected ids of titles that the fusion finds for this query, found `{}`, which is not among the {depth} best of \
             any of its parts; give the model alone to compare any titles",
            output::printable(id)
        );
    }
    Ok(())
}
