//! `clickvec completions`: scripts that let a shell complete commands and flags.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap_complete::Shell;
use clickvec_tables::files;

use crate::answer::Answer;
use crate::console;

/// Print a completion script for a shell, or install it where the shell looks for it.
///
/// `clickvec completions --install` writes the script for your shell into one of your own folders: for bash
/// `~/.local/share/bash-completion/completions`, for fish `~/.config/fish/completions`, for zsh
/// `~/.local/share/zsh/site-functions`. If the shell's own variables name other folders, these are used.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell [default: with --install, that of $SHELL].
    #[arg(required_unless_present = "install")]
    shell: Option<Shell>,

    /// Write the script into the folder where bash, zsh or fish looks for it, and say where that is.
    #[arg(long)]
    install: bool,
}

/// Prints or installs the script for `command`, which is the whole program.
pub(crate) fn run(args: Args, command: &mut clap::Command) -> Result<Answer> {
    let shell = match (args.shell, args.install) {
        (Some(shell), _) => shell,
        (None, _) => Shell::from_env()
            .context("expected the name of a shell in $SHELL, found none; say which one: bash, zsh or fish")?,
    };
    // Generate into memory first, because the generator panics when a pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "clickvec", &mut script);
    if args.install {
        install(shell, &script)?;
    } else {
        console::print(String::from_utf8_lossy(&script))?;
    }
    Ok(Answer::Done)
}

fn install(shell: Shell, script: &[u8]) -> Result<()> {
    let path = path_for(shell, &|name| std::env::var_os(name).map(PathBuf::from))?;
    let folder = files::folder_of(&path);
    std::fs::create_dir_all(&folder).map_err(|source| clickvec::Error::io(&folder, "make this folder", source))?;
    files::write_bytes_atomically(&path, script)?;
    console::note(format_args!("{}: written; new shells will complete clickvec", path.display()));
    if shell == Shell::Zsh {
        console::note(format_args!(
            "if zsh does not know this folder yet, put this line before `compinit` in ~/.zshrc:\n  fpath=({} $fpath)",
            folder.display()
        ));
    }
    Ok(())
}

/// Where a shell looks for a user's scripts. `variable` reads the environment.
fn path_for(shell: Shell, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Result<PathBuf> {
    // The XDG specification says to ignore relative paths.
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    let below_home = |name: &str, folder: &str| {
        absolute(name).or_else(|| absolute("HOME").map(|home| home.join(folder))).with_context(|| {
            format!(
                "expected your home folder in $HOME, found none; print the script with `clickvec completions {shell}`"
            )
        })
    };
    let data = || below_home("XDG_DATA_HOME", ".local/share");
    Ok(match shell {
        Shell::Bash => match absolute("BASH_COMPLETION_USER_DIR") {
            Some(folder) => folder.join("completions/clickvec"),
            None => data()?.join("bash-completion/completions/clickvec"),
        },
        Shell::Zsh => data()?.join("zsh/site-functions/_clickvec"),
        Shell::Fish => below_home("XDG_CONFIG_HOME", ".config")?.join(Path::new("fish/completions/clickvec.fish")),
        other => bail!(
            "expected bash, zsh or fish, found {other}, whose folder is not known; print the script with `clickvec \
             completions {other}`"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_has_its_folder() {
        let home = |name: &str| (name == "HOME").then(|| PathBuf::from("/home/me"));
        let found = |shell, variable: &dyn Fn(&str) -> Option<PathBuf>| path_for(shell, variable).unwrap();
        let bash = found(Shell::Bash, &home);
        assert_eq!(bash, Path::new("/home/me/.local/share/bash-completion/completions/clickvec"));
        assert_eq!(found(Shell::Zsh, &home), Path::new("/home/me/.local/share/zsh/site-functions/_clickvec"));
        assert_eq!(found(Shell::Fish, &home), Path::new("/home/me/.config/fish/completions/clickvec.fish"));
        let all = |name: &str| Some(Path::new("/x").join(name));
        assert_eq!(found(Shell::Bash, &all), Path::new("/x/BASH_COMPLETION_USER_DIR/completions/clickvec"));
        assert_eq!(found(Shell::Fish, &all), Path::new("/x/XDG_CONFIG_HOME/fish/completions/clickvec.fish"));
        // A relative path is ignored.
        let relative = |name: &str| if name == "HOME" { home(name) } else { Some(PathBuf::from("data")) };
        assert_eq!(found(Shell::Bash, &relative), bash);
        assert!(path_for(Shell::Bash, &|_| None).is_err());
        assert!(path_for(Shell::PowerShell, &home).is_err());
    }
}
