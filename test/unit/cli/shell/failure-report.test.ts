import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { CommanderError } from 'commander';
import { CommandError, usageError } from '../../../../src/cli/shell/command-error.ts';
import { describeFailure } from '../../../../src/cli/shell/failure-report.ts';
import { ReveilleProtocolError, ReveilleUnreachableError } from '../../../../src/client/reveille-client.ts';
import { MissingBinaryError } from '../../../../src/lib/connections/uws-binary.ts';
import { SettingsError } from '../../../../src/server/config/settings.ts';
import { StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';

const unreachable = new ReveilleUnreachableError(
  'http://127.0.0.1:1',
  false,
  Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
);
const unlike = new ReveilleProtocolError('http://127.0.0.1:1', 431, 'no envelope');
for (const [what, error, exitCode, lines] of [
  ['a command failed', new CommandError('no server runs', 'start one'), 1, ['no server runs', '  start one']],
  [
    'a server cannot be reached',
    unreachable,
    1,
    [
      'no answer from http://127.0.0.1:1: nothing listens there',
      '  start the server, or name another with --url http://host:port',
    ],
  ],
  ['another server answers', unlike, 1, [unlike.message]],
  ['the usage is wrong', usageError('given together'), 2, ['given together']],
  ['help was asked for', new CommanderError(0, 'commander.helpDisplayed', ''), 0, []],
  ['settings are wrong', new SettingsError(['api.listen: wrong', 'x: y']), 2, ['api.listen: wrong', 'x: y']],
  ['the front end has no binary', new MissingBinaryError('none', 'add it'), 1, ['none: add it']],
  ['the store does not open', new StoreOpenError('in use'), 1, ['in use']],
] as const)
  test(`if ${what}, the exit code is ${exitCode}, with sentences and no stack`, () => {
    assert.deepEqual(describeFailure(error, false), { exitCode, lines });
  });

test('with --json a failure is one JSON object', () => {
  const { exitCode, lines } = describeFailure(new CommandError('no server runs', 'start one'), true);
  assert.equal(exitCode, 1);
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    [{ error: 'no server runs', advice: ['start one'] }],
  );
});

test('an unknown command or option is reported like any other failure', () => {
  const error = new CommanderError(
    1,
    'commander.unknownOption',
    "error: unknown option '--a'\n(Did you mean --b?)",
  );
  const advice = ['(Did you mean --b?)', 'add --help to the command for its options'];
  assert.deepEqual(describeFailure(error, false), {
    exitCode: 2,
    lines: ["unknown option '--a'", ...advice.map((line) => `  ${line}`)],
  });
  const { exitCode, lines } = describeFailure(error, true);
  assert.deepEqual([exitCode, lines.length], [2, 1]);
  assert.deepEqual(JSON.parse(lines[0] ?? ''), { error: "unknown option '--a'", advice });
});

test('an error of the operating system is a sentence without a stack', () => {
  const missing = '/nowhere/at/all';
  try {
    statSync(missing);
    assert.fail('nothing is there');
  } catch (error) {
    const { exitCode, lines } = describeFailure(error, false);
    assert.equal(exitCode, 1);
    assert.match(lines.join('\n'), /^ENOENT.*nowhere[^\n]*$/);
  }
});

test('a programming error keeps its stack', () => {
  const { exitCode, lines } = describeFailure(new TypeError('of ours'), false);
  assert.equal(exitCode, 1);
  assert.match(lines.join('\n'), /TypeError: of ours\n {4}at /);
});

test('a missing or broken native library is a sentence with the command that repairs it', () => {
  const missing = new Error(
    'No native build was found for platform=linux arch=x64\n  attempted loading from: x',
  );
  const unloadable = Object.assign(new Error('/x/node.abi.node: file too short'), {
    code: 'ERR_DLOPEN_FAILED',
  });
  for (const [error, fault] of [
    [missing, /^the store's library lmdb is installed without its binary for Node .* on \w+\/\w+$/],
    [unloadable, /^a native library does not load in Node .*: \/x\/node\.abi\.node: file too short$/],
  ] as const) {
    const { exitCode, lines } = describeFailure(error, false);
    assert.deepEqual([exitCode, lines.length], [1, 2]);
    assert.match(lines[0] ?? '', fault);
    assert.match(lines[1] ?? '', /^ {2}npm ci mends it; .* npm run without-ffmpeg$/);
  }
});
