import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { ReveilleClient, ReveilleProtocolError } from '../../../src/client/reveille-client.ts';
import {
  playScript,
  reply,
  scriptedCredential,
  silence,
  success,
  unanswered,
  type ScriptEntry,
} from '../../support/scripted-transport.ts';

const credentialsBody = {
  msg_session_key: 'session key',
  msg_room_id: 'room',
  msg_session_token: 'session token',
  msg_app_id: 'app',
  device_id: 'D',
  msg_model_id: 'model',
  down_video_mt: 'mjpeg',
  screen_width: 160,
  screen_height: 100,
  audio_rate: 8000,
  audio_channels: 1,
} as const;

/** The requests of each call: method, target, body, timeout. */
const calls: readonly (readonly [
  (client: ReveilleClient) => Promise<unknown>,
  string,
  object | null,
  number,
])[] = [
  [
    (client) => client.connectivity('a b+ü'),
    'GET /v1/device/connectivity?device_id=a%20b%2B%C3%BC',
    null,
    10,
  ],
  [
    (client) => client.connectivityOf(['D', 'E']),
    'POST /v1/devices/connectivity',
    { device_ids: ['D', 'E'] },
    10,
  ],
  [(client) => client.connectivityOf([]), 'POST /v1/devices/connectivity', { device_ids: [] }, 10],
  [(client) => client.wake('D'), 'POST /v1/device/wakeup-request', { device_id: 'D' }, 10],
  [
    (client) => client.wake('D', { customData: '0x12ab' }),
    'POST /v1/device/wakeup-request',
    { device_id: 'D', custom_data: '0x12ab' },
    10,
  ],
  [(client) => client.wakeupOutcome('a/b'), 'GET /v1/device/wakeup-request?request_id=a%2Fb', null, 10],
  [
    (client) => client.wakeupOutcome('r', { deviceId: 'D 1', waitS: 30 }),
    'GET /v1/device/wakeup-request?request_id=r&device_id=D%201&wait=30',
    null,
    40,
  ],
  [
    (client) => client.sendMessage('D', 'hello', { a: [1] }),
    'POST /v1/device/message',
    { device_id: 'D', name: 'hello', payload: { a: [1] } },
    10,
  ],
  [
    (client) => client.sendMessage('D', 'hello', {}, { wake: true }),
    'POST /v1/device/message',
    { device_id: 'D', name: 'hello', payload: {}, wake: true },
    30,
  ],
  [
    (client) => client.sendMessage('D', 'hello', {}, { wake: true, waitS: 5 }),
    'POST /v1/device/message',
    { device_id: 'D', name: 'hello', payload: {}, wake: true, wait: 5 },
    15,
  ],
  [(client) => client.events(), 'GET /v1/events', null, 10],
  [
    (client) => client.events({ after: 'c', limit: 5, waitS: 2.5 }),
    'GET /v1/events?after=c&limit=5&wait=2.5',
    null,
    12.5,
  ],
  [(client) => client.callStatus('D'), 'GET /v1/device/msgvoip-call-status?device_id=D', null, 10],
  [(client) => client.issueCallCredentials(credentialsBody), 'POST /v1/token/msgvoip', credentialsBody, 10],
  [
    (client) => client.endCall('D', { session: 's' }),
    'POST /v1/device/msgvoip-call/end',
    { device_id: 'D', session: 's' },
    10,
  ],
  [
    (client) => client.endCall('D', { msg_room_id: 'r' }, { reason: 'rejected', timeoutMs: 500 }),
    'POST /v1/device/msgvoip-call/end',
    { device_id: 'D', msg_room_id: 'r', reason: 'rejected' },
    0.5,
  ],
  [
    (client) => client.callStatus('D', { timeoutMs: 500 }),
    'GET /v1/device/msgvoip-call-status?device_id=D',
    null,
    0.5,
  ],
];

for (const [call, line, body, seconds] of calls)
  test(`${line}${body === null ? '' : ` ${JSON.stringify(body)}`}, within ${seconds} s`, async () => {
    const { client, transport } = playScript([success({})]);
    await call(client);
    const [request] = transport.requests;
    assert.equal(`${request?.method} ${request?.target}`, line);
    const sent = request?.body ?? null;
    assert.deepEqual(sent === null ? null : JSON.parse(Buffer.from(sent).toString()), body);
    assert.equal(request?.deadlineMs, seconds * 1000);
    const waits = line.includes('wait=') || (body !== null && 'wake' in body);
    assert.equal(request.isLongPoll, waits);
  });

async function result(entry: ScriptEntry): Promise<Awaited<ReturnType<ReveilleClient['wake']>>> {
  return playScript([entry], { attemptsMax: 1 }).client.wake('D');
}

test('a success has the data as on the wire, and the request id', async () => {
  const data = { device_id: 'D', status: 'accepted', accepted_at: 'then' };
  const answer = reply(202, { request_id: 'r', code: 0, message: 'success', data });
  const said = { ok: true, status: 202, requestId: 'r', message: 'success', data };
  assert.deepEqual(await result(answer), said);
});

test('a response without a request id in its body has that of its header', async () => {
  const { requestId } = await result(success({}));
  assert.equal(requestId, 'server-made');
});

test('the response to a repeated signature has the request id of the first', async () => {
  const headers = { 'x-tg-repeat-of': 'first' };
  const data = { device_id: 'D', status: 'accepted', accepted_at: 'then' };
  const refusal = { request_id: 'r', code: 50402, message: 'unknown' };
  for (const answer of [
    reply(202, { request_id: 'r', code: 0, message: '', data }, headers),
    reply(504, refusal, headers),
  ])
    assert.equal((await result(answer)).repeatOf, 'first');
});

test('a refusal has its code, its message and its Retry-After', async () => {
  const answer = reply(429, { request_id: 'r', code: 42901, message: 'too many' }, { 'retry-after': '2' });
  assert.deepEqual(await result(answer), {
    ok: false,
    status: 429,
    requestId: 'r',
    code: 42901,
    message: 'too many',
    retryAfterS: 2,
    data: null,
  });
});

test('call credentials use msg instead of message', async () => {
  const { client } = playScript([reply(200, { code: 40903, msg: 'somebody has connected' })]);
  const refused = await client.issueCallCredentials(credentialsBody);
  assert.deepEqual([refused.ok, refused.message], [false, 'somebody has connected']);
});

test('a signature mismatch has the strings that the server computed', async () => {
  const data = { canonical_request: 'GET…', string_to_sign: 'TGV1…' };
  const refused = await result(reply(401, { code: 40105, message: 'signature mismatch', data }));
  assert.deepEqual(!refused.ok && refused.data, data);
});

for (const [name, answer] of [
  ['a page', reply(200, '<html>')],
  ['an array', reply(200, '[0]')],
  ['no code', reply(200, { message: 'success', data: {} })],
  ['no message', reply(200, { code: 0, data: {} })],
  ['success without data', reply(200, { code: 0, message: 'success' })],
  ['no request id', { ...success({}), headers: {} }],
] as const)
  test(`${name} is not a response of the API, and the error does not contain it`, async () => {
    await assert.rejects(result(answer), (error: unknown) => {
      assert.ok(error instanceof ReveilleProtocolError);
      assert.equal(error.status, 200);
      assert.doesNotMatch(inspect(error), /html|success/);
      return true;
    });
  });

test('a raw request is signed and sent once, and any response is the result', async () => {
  const { client, transport } = playScript([reply(503, 'full', { 'retry-after': '1' })]);
  const answer = await client.request({
    method: 'GET',
    path: '/v1/anything/',
    rawQuery: 'a=%zz',
    headerSet: 'short',
    headers: { 'X-Request-ID': 'mine' },
  });
  assert.deepEqual([answer.status, answer.text, answer.json], [503, 'full', null]);
  assert.equal(transport.requests[0]?.target, '/v1/anything/?a=%zz');
  assert.deepEqual(transport.sent('X-Tg-Signed-Headers'), ['x-tg-app-id;x-tg-date']);
  assert.deepEqual(transport.sent('X-Request-ID'), ['mine']);
});

test('the body of a raw request is sent byte for byte with its type', async () => {
  const { client, transport } = playScript([success({ a: 1 })]);
  const body = Buffer.from('{ "a": 1 }');
  const answer = await client.request({ method: 'POST', path: '/x', body, contentType: 'text/plain' });
  assert.deepEqual([transport.requests[0]?.body, transport.sent('Content-Type')], [body, ['text/plain']]);
  assert.equal(answer.json?.['code'], 0);
});

test('an aborted call rejects with the reason', async () => {
  const { client } = playScript([silence]);
  const ending = new AbortController();
  const asked = client.connectivity('D', { signal: ending.signal });
  ending.abort(new Error('no longer wanted'));
  await assert.rejects(asked, /no longer wanted/);
});

test('closing the client rejects pending and later calls', async () => {
  const { client, transport } = playScript([silence, silence]);
  const asked = [client.connectivity('D'), client.request({ method: 'GET', path: '/' })];
  client.close();
  for (const each of asked) await assert.rejects(each, /this client is closed/);
  await assert.rejects(client.wake('D'), /this client is closed/);
  assert.equal(transport.isClosed, true);
});

test('the constructor rejects an invalid origin', () => {
  const none = [
    '',
    'reveille.test',
    'ftp://reveille.test',
    'http://reveille.test/api',
    'http://a:b@reveille.test',
  ];
  for (const origin of none)
    assert.throws(() => new ReveilleClient({ origin, credential: scriptedCredential }), TypeError, origin);
});

test('neither the client nor an error contains a secret or a signature', async () => {
  const { client, transport } = playScript([unanswered(), reply(200, 'no envelope')], { attemptsMax: 1 });
  const errors = [await client.issueCallCredentials(credentialsBody).catch((error: unknown) => error)];
  errors.push(await client.issueCallCredentials(credentialsBody).catch((error: unknown) => error));
  const shown = [client, ...errors].map((each) => inspect(each, { showHidden: true, depth: 9 })).join('\n');
  const signatures = transport.sent('Authorization').map((line) => String(line).split('Signature=')[1]);
  const { secretKey } = scriptedCredential;
  for (const secret of [secretKey, 'session key', 'session token', ...signatures])
    assert.ok(!`${shown}${JSON.stringify(client)}`.includes(String(secret)), secret);
});
