/** `reveille webhook …` as processes, beside a running server. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli, type CliResult } from '../support/cli-process.ts';
import { startServerProcess } from '../support/server-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { ok, receiverSecret, status, WebhookReceiver } from '../support/webhook-receiver.ts';

/** A data directory's flags, and the overrides of a server on it whose registry has these webhooks. */
function directoryWith(
  t: Ending,
  urls: readonly string[],
): { readonly flags: string[]; readonly overrides: string[] } {
  const directory = temporaryDirectory(t);
  const data = join(directory, 'data');
  const file = join(directory, 'registry.json');
  const registry = {
    applications: [{ app_id: '2818153', name: 'demo' }],
    webhooks: urls.map((url) => ({ app_id: '2818153', url, secret: receiverSecret, types: ['*'] })),
  };
  writeFileSync(file, JSON.stringify(registry));
  const overrides = [`data.dir=${data}`, `registry.file=${file}`, 'webhooks.allow_local=true'];
  return { flags: ['--data-dir', data], overrides };
}

function jsonOf(result: CliResult, exitCode = 0): Record<string, unknown> {
  assert.equal(result.exitCode, exitCode, result.stderr);
  return JSON.parse(result.stdout) as Record<string, unknown>;
}

test('an operator lists and tests webhooks of a running server', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  receiver.answerInTurn(ok, status(500));
  const { flags, overrides } = directoryWith(t, [receiver.url]);
  const server = await startServerProcess(t, overrides);
  const webhook = (...args: readonly string[]): Promise<CliResult> => runCli(['webhook', ...args, ...flags]);

  const tested = await webhook('test', receiver.url);
  assert.equal(tested.exitCode, 0, tested.stderr);
  assert.match(tested.stdout, /^delivered: answered 200 after \d+ ms\n$/);
  assert.equal(receiver.received[0]?.event?.['type'], 'webhook.test');
  const refused = jsonOf(await webhook('test', receiver.url, '--json'), 1);
  assert.deepEqual(
    [refused['delivered'], refused['status'], refused['reason']],
    [false, 500, 'answered 500'],
  );

  const running = jsonOf(await webhook('list', '--json'));
  const [listed] = running['webhooks'] as Record<string, unknown>[];
  assert.deepEqual([listed?.['url'], listed?.['state'], listed?.['parked']], [receiver.url, 'on', 0]);
  assert.match((await webhook('replay', receiver.url)).stdout, /no event is parked/);
  assert.match((await webhook('enable', receiver.url)).stdout, /is on; \d+ events/);
  const unknown = await webhook('test', 'http://127.0.0.1:1/');
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.stderr, /no webhook http:\/\/127\.0\.0\.1:1\/ in the registry/);
  const alone = await webhook('show', receiver.url);
  assert.match(alone.stdout, /^webhook +http/);
  for (const { stdout, stderr } of [alone, tested, unknown])
    assert.ok(!(stdout + stderr).includes(receiverSecret), 'no secret is shown');
  assert.equal(await server.command.stop('SIGTERM'), 0);
});

test('a webhook is named by a URL', async (t) => {
  const none = ['--data-dir', join(temporaryDirectory(t), 'none')];
  const wrong = await runCli(['webhook', 'test', 'backend.example', ...none]);
  assert.equal(wrong.exitCode, 2);
  assert.match(wrong.stderr, /named by its URL/);
});
