//! `lcmp-lab completions` and `man`: completion scripts and man pages of the command line.

use std::{io, path::Path};

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::{
    args::{self, Cli},
    caller,
    failure::{During, Exit, Outcome},
    terminal::print,
};

/// Runs `lcmp-lab completions`.
pub fn completions(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    let mut offered = args::without_hidden(&Cli::command());
    clap_complete::generate(shell, &mut offered, NAME, &mut script);
    print(&String::from_utf8_lossy(&script));
    Ok(Exit::Pass)
}

/// Runs `lcmp-lab man`: writes a page for the program and a page for each verb that is not hidden.
pub fn man(folder: &Path) -> Outcome {
    let action = format!("write the man pages into `{}`", folder.display());
    caller::create_dirs(folder).during(&action)?;
    let mut command = args::command().disable_help_subcommand(true);
    command.build();
    write_pages(command, folder).during(&action)?;
    Ok(Exit::Pass)
}

fn write_pages(command: Command, folder: &Path) -> io::Result<()> {
    let offered = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    for verb in offered.cloned() {
        write_pages(verb, folder)?;
    }
    let page = Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text)?;
    // Lines of examples and tables must not be joined.
    let text = String::from_utf8_lossy(&text).replace(".SH EXTRA\n", ".SH NOTES\n.nf\n");
    caller::write(&folder.join(page.get_filename()), text.as_bytes())
}

const NAME: &str = "lcmp-lab";
