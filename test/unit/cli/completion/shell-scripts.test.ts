/** The completion scripts of the whole program, run in the shells. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { completedCommands } from '../../../../src/cli/completion/completed-words.ts';
import { completionScript, shells } from '../../../../src/cli/completion/shell-scripts.ts';
import { buildProgram } from '../../../../src/program.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

const commands = completedCommands(await buildProgram());
type Shell = (typeof shells)[number];

/** The reason to skip the tests of a shell; false: none. CI must have every shell. */
function missing(shell: Shell): string | false {
  return spawnSync(shell, ['--version']).status === 0 ? false : `no ${shell} here: apt-get install ${shell}`;
}

/** Runs `lines` of shell code after the completion script, and returns the completions of each. */
function answers(t: TestContext, shell: Shell, lines: readonly string[]): readonly string[][] {
  const file = join(temporaryDirectory(t), 'script');
  writeFileSync(file, completionScript(shell, commands));
  const options = { bash: ['--norc'], zsh: ['-f'], fish: ['--no-config'] }[shell];
  const before = shell === 'zsh' ? 'autoload -U +X compinit && compinit -u -D\n' : '';
  const script = [`${before}source ${file}`, ...lines].join('\n');
  const { status, stdout, stderr } = spawnSync(shell, [...options, '-c', script], { encoding: 'utf8' });
  assert.equal(stderr, '');
  assert.equal(status, 0);
  const said = stdout.split('\nEND\n').slice(0, -1);
  return said.map((answer) => answer.split('\n').map((word) => word.trim()));
}

/** Calls the completion function as the shell does. */
const called = `try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reveille; printf '%s\\n' "\${COMPREPLY[@]}"; echo END; }`;
/** Replaces the program, which the script runs only to list profiles. */
const profiles = `reveille() { printf '%s\n' 'NAME  OPS' 'lab   -' 'prod  -'; }`;

test('bash completes commands, options, choices and profiles', { skip: missing('bash') }, (t) => {
  const tried: readonly (readonly [line: string, words: readonly string[]])[] = [
    ['reveille registry ex', ['export']],
    ['reveille registry list de', ['devices']],
    ['reveille --data-dir registry regi', ['registry']],
    ['reveille --set a=b registry list --limit 3 --af', ['--after']],
    ["reveille serve --only ''", ['media']],
    ['reveille device add NEW --prod', ['--product']],
    ['reveille wake DOOR-1 --profile p', ['prod']],
    ["reveille device add --product ''", ['']],
    ["reveille completion ''", [...shells]],
  ];
  const found = answers(t, 'bash', [called, profiles, ...tried.map(([line]) => `try ${line}`)]);
  assert.deepEqual(
    found,
    tried.map(([, words]) => words),
  );
});

test(
  'zsh completes at the first attempt, even when it loads the script from its fpath',
  { skip: missing('zsh') },
  (t) => {
    const folder = temporaryDirectory(t);
    writeFileSync(join(folder, '_reveille'), completionScript('zsh', commands));
    const script = `
    autoload -U +X compinit && compinit -u -D
    fpath=(${folder} $fpath); autoload -U _reveille
    compadd() { print -r -- "$@" }
    words=(reveille registry ex) CURRENT=3
    _reveille`;
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', script], { encoding: 'utf8' });
    assert.equal(stderr, '');
    assert.match(stdout, /\bexport\b/);
  },
);

test('fish completes commands, options and choices', { skip: missing('fish') }, (t) => {
  const lines = [
    'registry ex',
    'registry list de',
    '--data-dir registry regi',
    'wake DOOR-1 --custom',
    'serve --only ',
  ];
  const found = answers(
    t,
    'fish',
    lines.map((line) => `complete -C 'reveille ${line}'; echo END`),
  );
  const words = found.map((answer) => answer.map((each) => each.split('\t')[0]));
  assert.deepEqual(
    words.map(([word]) => word),
    ['export', 'devices', 'registry', '--custom-data', 'media'],
  );
});

test('every script contains every command and every option', () => {
  assert.ok(commands.length > 40);
  for (const shell of shells) {
    const script = completionScript(shell, commands);
    for (const { path, options } of commands)
      for (const flag of [path, ...options.flatMap(({ flags }) => flags)])
        assert.ok(
          script.includes(shell === 'fish' ? flag.replace(/^-+/, '') : flag),
          `${shell}: ${path} ${flag}`,
        );
  }
});
