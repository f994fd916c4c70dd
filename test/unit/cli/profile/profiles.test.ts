import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { addProfileCommand } from '../../../../src/cli/profile/profile-command.ts';
import {
  chooseProfile,
  profilesPath,
  readProfiles,
  refuseInClear,
  writeProfiles,
} from '../../../../src/cli/profile/profiles.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { commandScene } from '../../../support/command-scene.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

const prod = { ops: 'https://ops.example:8090', token: 'the-token-of-prod' };
const lab = { ops: 'http://127.0.0.1:8090', token: 'the-token-of-lab' };

/** An environment with these profiles. */
function environment(t: Ending): Record<string, string> {
  const env = { XDG_CONFIG_HOME: temporaryDirectory(t) };
  writeProfiles(profilesPath(env), { prod, lab });
  return env;
}

test('options take precedence over the environment, and without either the command addresses this machine', (t) => {
  const env = environment(t);
  const chosen = (given: object, more: Record<string, string> = {}): unknown =>
    chooseProfile(given, { ...env, ...more })?.name ?? null;
  assert.equal(chosen({ profile: 'prod' }, { REVEILLE_PROFILE: 'lab' }), 'prod');
  assert.equal(chosen({}, { REVEILLE_PROFILE: 'prod' }), 'prod');
  assert.equal(chosen({}), null);
  assert.equal(chosen({}, { REVEILLE_PROFILE: '' }), null);
  for (const local of [{ dataDir: 'd' }, { config: 'c' }, { set: ['log.level=info'] }])
    assert.equal(chosen(local, { REVEILLE_PROFILE: 'prod' }), null);
  assert.throws(() => chosen({ profile: 'prod', dataDir: 'd' }), { exitCode: 2 });
  for (const name of ['none', 'constructor', '__proto__'])
    assert.throws(() => chosen({ profile: name }), { exitCode: 2, message: `there is no profile "${name}"` });
});

test('a command for a remote server cannot access the store and the settings of this machine', (t) => {
  const context = new CommandContext({ profile: 'prod' }, environment(t));
  assert.throws(() => context.dataDirectory, /this machine only, and the profile prod/);
  assert.throws(() => context.settings, CommandError);
});

test('the file is readable by its owner only, and one that others can read is refused', (t) => {
  const path = profilesPath(environment(t));
  assert.equal(statSync(path).mode & 0o777, 0o600);
  chmodSync(path, 0o640);
  assert.throws(() => readProfiles(path), { advice: `restrict it: chmod 600 ${path}` });
  writeProfiles(path, { lab });
  assert.deepEqual(readProfiles(path), { lab });
});

test('a file without valid profiles is named, and its content is not shown', (t) => {
  const path = profilesPath({ XDG_CONFIG_HOME: temporaryDirectory(t) });
  mkdirSync(dirname(path));
  for (const spoiled of [
    '{"token": "s3cr',
    '[]',
    '{"a b":{"ops":"https://a.example","token":"s3cret"}}',
    '{"a":{"ops":"nonsense","token":"s3cret"}}',
    '{"a":{"ops":"https://a.example","token":"s3cret","api":"https://a.example"}}',
    'x'.repeat(2 ** 20 + 1),
  ]) {
    writeFileSync(path, spoiled, { mode: 0o600 });
    const refused = (error: Error): boolean =>
      error.message.includes(path) && !error.message.includes('s3cr');
    assert.throws(() => readProfiles(path), refused);
  }
});

test('a token is sent over TLS only, or stays on this machine', () => {
  for (const good of [
    'https://ops.example',
    'http://127.0.0.1:8090',
    'http://[::1]:8090',
    'http://localhost:1',
  ])
    refuseInClear(good);
  for (const clear of ['http://ops.example:8090', 'http://10.0.0.5', 'http://127.0.0.1.example'])
    assert.throws(() => refuseInClear(clear), /unencrypted/, clear);
  const advice = /ssh -L 8090:127\.0\.0\.1:8090 fd00::5$/;
  assert.throws(() => refuseInClear('http://[fd00::5]:8090'), { advice }, 'ssh takes no brackets');
});

test('profiles are added, listed, chosen and removed, and their secrets are not shown', async (t) => {
  const directory = temporaryDirectory(t);
  const env = { XDG_CONFIG_HOME: join(directory, 'config') };
  const { output, run } = commandScene(t, addProfileCommand, { env });
  const [tokenFile, keyFile] = [join(directory, 'token'), join(directory, 'key.json')];
  const credential = { access_key_id: 'AK1', secret_key: 'secret-key-of-AK1', app_id: 'app' };
  writeFileSync(tokenFile, `${prod.token}\n`);
  writeFileSync(keyFile, JSON.stringify({ ...credential, permissions: ['*'] }));
  const api = ['--url', 'https://reveille.example', '--credential', keyFile];
  const added = ['profile', 'add', 'prod', '--ops', prod.ops, '--token-file', tokenFile, ...api];
  await run(...added);
  await assert.rejects(run(...added), /the profile prod exists already/);
  const former = added.map((word) =>
    word.replace('--url', '--api').replace('--credential', '--credential-file'),
  );
  await run(...former, '--replace');
  writeFileSync(tokenFile, JSON.stringify({ name: 'alice', role: 'operator', token: prod.token }));
  await run(...added, '--replace');
  await run('profile', 'list');
  assert.match(output.text, /^NAME .*\nprod +https:\/\/ops\.example:8090 +https:\/\/reveille\.example +AK1$/);
  assert.doesNotMatch(output.text + JSON.stringify(output.json), /the-token-of|secret-key-of/);
  const whole = { ...prod, api: 'https://reveille.example', credential, name: 'prod' };
  assert.deepEqual(chooseProfile({ profile: 'prod' }, env), whole);
  await run('profile', 'remove', 'prod');
  assert.equal(readFileSync(profilesPath(env), 'utf8'), '{}\n');
  for (const wrong of [
    ['--ops', 'https://a.example', '--token-file', tokenFile, '--credential', keyFile],
    ['--ops', 'http://a.example', '--token-file', tokenFile],
  ])
    await assert.rejects(run('profile', 'add', 'x', ...wrong), { exitCode: 2 });
  await assert.rejects(run('profile', 'remove', 'none'), /there is no profile "none"/);
});
