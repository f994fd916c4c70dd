/** The help of every command, as commander prints it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommanderError, type Command } from 'commander';
import { buildProgram } from '../../src/program.ts';

/** Every command with the words that call it. */
function* walk(
  command: Command,
  words: readonly string[],
): Generator<{ command: Command; words: readonly string[] }> {
  yield { command, words };
  for (const child of command.commands) yield* walk(child, [...words, child.name()]);
}

async function helpOf(
  words: readonly string[],
): Promise<{ readonly text: string; readonly exitCode: number }> {
  const program = await buildProgram(words);
  let text = '';
  for (const { command } of walk(program, []))
    command.configureOutput({ writeOut: (piece) => (text += piece) });
  try {
    program.parse([...words, '--help'], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return { text, exitCode: error.exitCode };
    throw error;
  }
  return assert.fail('help ends the program');
}

const commands = [...walk(await buildProgram(), [])]
  .map(({ words }) => words)
  .filter((words) => words[0] !== 'help');

test('every command of running.md is there', () => {
  const names = new Set(commands.map((words) => words.join(' ')));
  const wanted =
    'serve, doctor, config, sign, call, wake, status, events, simulate, demo, version, registry import, registry export, ' +
    'registry list, device add, device show, device disable, device kick, credential create, credential rotate, ' +
    'credential revoke, device list, credential list, token list, product list, application list, bridge list, webhook list, ' +
    'calls list, token-key list, profile list';
  for (const name of wanted.split(', ')) assert.ok(names.has(name), `no command ${name}`);
});

for (const words of commands)
  test(`the help of "reveille ${words.join(' ')}" says what it does and has examples`, async () => {
    const { text, exitCode } = await helpOf(words);
    assert.equal(exitCode, 0);
    assert.match(text, /^Usage: reveille/);
    assert.match(text, /\nExamples:\n(?: {2}#[^\n]*\n)? {2}\$ (npm run -s )?reveille/);
    assert.match(text, /--data-dir/, 'the options of all commands are shown');
  });

test('the help of the program fits on a screen, and names each command in one column', async () => {
  const { text } = await helpOf([]);
  const lines = text.trimEnd().split('\n');
  assert.ok(lines.length <= 24, `${lines.length} lines`);
  for (const line of lines) assert.ok(line.length <= 79, line);
  for (const [name, ...more] of commands)
    if (more.length === 0 && name !== undefined)
      assert.match(text, new RegExp(`^(?:.{40})?  ${name} +\\w`, 'm'), name);
});

test('a command has its former name as well', async () => {
  for (const name of ['token', 'ops-token']) {
    const { text, exitCode } = await helpOf([name, 'list']);
    assert.equal(exitCode, 0);
    assert.match(text, /^Usage: reveille token list/);
  }
});

test('every option and argument is described', async () => {
  for (const { command, words } of walk(await buildProgram(), [])) {
    for (const option of command.options) assert.ok(option.description, `${words.join(' ')} ${option.flags}`);
    for (const argument of command.registeredArguments) assert.ok(argument.description, words.join(' '));
  }
});

const read: readonly (readonly [what: string, args: readonly string[], names: readonly string[] | 'all'])[] =
  [
    ['a command is read alone', ['wake', 'DOOR-1'], ['wake']],
    ['the value of an option before it is not taken for it', ['--data-dir', 'demo', 'version'], ['version']],
    ['an unknown one has all of them to be told from', ['nonsense'], 'all'],
    ['a name that every object has is unknown', ['constructor'], 'all'],
    ['help has all of them', ['--help'], 'all'],
  ];

for (const [what, args, names] of read)
  test(what, async () => {
    const { commands: found } = await buildProgram(args);
    const all = (await buildProgram()).commands.map((command) => command.name());
    assert.deepEqual(
      found.map((command) => command.name()),
      names === 'all' ? all : names,
    );
  });
