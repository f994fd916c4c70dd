/**
 * Secrets of a call are planted and searched in all output of the server: logs at the lowest level, events, metrics, views of operators,
 * URLs, tokens. Source: decisions of this project, docs/adr/0012, 0013.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { metricsOf } from '../support/driven-server.ts';
import { callBody, issuance, msgSessionKey, msgSessionToken } from '../support/call-actions.ts';
import { runCli } from '../support/cli-process.ts';
import { withMedia } from '../support/server-process.ts';
import { startTestSite } from '../support/test-site.ts';
import { testBridgeKeys } from '../support/test-server.ts';

const developmentKey = 'planted-development-key-55e1';

test('no secret of a call is in a log, an event, a metric, a view of operators, a peer id or a token', async (t) => {
  const overrides = [...withMedia, `media.bridge_keys=${developmentKey}`, 'log.level=trace'];
  const site = await startTestSite(t, ...overrides);
  const { directory, ports } = site;
  const api = site.api;
  const ops = new OpsClient(`http://127.0.0.1:${ports.ops}`, findOpsToken(directory) ?? '');
  const url = `ws://127.0.0.1:${ports.media}`;
  const said: string[] = [];
  const hear = (text: string): number => said.push(text);

  const tokens: string[] = [];
  const sessions: string[] = [];
  const changes = [
    {},
    { screen_width: 0 },
    { msg_room_id: 'room-2' },
    { audio_rate: 1 },
    { msg_session_key: 1 },
  ];
  for (const change of changes) {
    const { json, text } = await api.call({ ...issuance, body: JSON.stringify(callBody(change)) });
    const { token, peer_id: peerId } = (json.data ?? {}) as { token?: string; peer_id?: string };
    if (token === undefined || peerId === undefined) hear(text);
    else {
      tokens.push(token);
      sessions.push(new URL(peerId).searchParams.get('x_session') ?? '');
      hear(peerId);
      hear(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    }
  }
  assert.equal(tokens.length, 2);
  const [first = '', second = ''] = sessions;
  const bridge = await BridgeLeg.connect({ url, key: testBridgeKeys.own, session: first });
  const start = await bridge.next('start');
  assert.ok(JSON.stringify(start).includes(msgSessionKey), 'the bridge alone is told');
  await BridgeLeg.connect({ url, key: developmentKey, session: second });
  await assert.rejects(BridgeLeg.connect({ url, key: `${testBridgeKeys.own}-wrong` }));
  await assert.rejects(DeviceLeg.connect({ url, token: `${tokens[0]}x` }));
  const device = await DeviceLeg.connect({ url, token: tokens[0] ?? '' });
  device.send({ type: 'nonsense', session_key: 'x' });
  const { url: link } = (await ops.change('/v1/calls/ticket', { session: first })) as { url: string };
  const watching = await fetch(link);
  const commands = [
    ['calls', 'list'],
    ['status', 'TESTDEVICE01'],
    ['registry', 'list', 'bridges'],
    ['token-key', 'list'],
  ];
  for (const words of commands)
    hear((await runCli([...words, '--json', '--set', `data.dir=${directory}`])).stdout);
  hear((await runCli(['config', '--set', `media.bridge_keys=${developmentKey}`])).stdout);
  bridge.report('ended');
  await device.closed;
  await watching.arrayBuffer();
  const events = await api.call({ method: 'GET', path: '/v1/events', query: 'limit=1000' });
  hear(events.text);
  hear(await metricsOf(site));
  const { command } = site.server;
  assert.equal(await site.stop(), 0);
  hear(command.lines.join('\n'));
  hear(command.stderr);

  const everything = said.join('\n');
  for (const expected of ['call.ended', 'reveille_calls', first, '"msg":"stopped"', 'bridge-1'])
    assert.ok(everything.includes(expected), `what was said has ${expected}`);
  const { keys } = JSON.parse(await readFile(join(directory, 'token-keys.json'), 'utf8')) as {
    readonly keys: readonly { readonly secret: string }[];
  };
  const secrets = {
    msg_session_key: msgSessionKey,
    msg_session_token: msgSessionToken,
    'bridge key': testBridgeKeys.own,
    'development key': developmentKey,
    'viewer ticket': new URL(link).searchParams.get('ticket') ?? 'no ticket',
    'token of the first call': tokens[0]?.split('.')[2] ?? 'no token',
    'signing key': keys[0]?.secret ?? 'no key',
  };
  for (const [name, secret] of Object.entries(secrets)) {
    const at = everything.indexOf(secret);
    assert.equal(at, -1, `${name} is in: ${everything.slice(Math.max(0, at - 200), at + 100)}`);
  }
});
