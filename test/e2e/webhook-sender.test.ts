/** Delivery attempts over real sockets, to a receiver that verifies with the reference library. */
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { WebhookAnswer } from '../../src/core/ports/webhook-sender.ts';
import { HttpSender, type HttpSenderDeps } from '../../src/webhooks/http/http-sender.ts';
import { SystemNames, type NameResolver } from '../../src/webhooks/http/checked-connections.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { ok, receiverSecret, status, WebhookReceiver } from '../support/webhook-receiver.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { webhook } from '../support/webhook-scene.ts';
import { runArgs } from '../support/checkout.ts';
import { moduleBeside } from '../../src/lib/module-worker.ts';

const message = { id: 'event-1', body: '{"id":"event-1","text":"Grüße"}' };

function senderOf(t: Ending, parts: Partial<HttpSenderDeps> = {}): HttpSender {
  const sender = new HttpSender({
    clock: new SystemClock(),
    resolver: new SystemNames(),
    allowLocal: true,
    userAgent: 'Reveille/0.0.0',
    attemptMsMax: 5000,
    ...parts,
  });
  t.after(() => sender.close());
  return sender;
}

function hookAt(url: string, secret = receiverSecret): ReturnType<typeof webhook> {
  return webhook({ url, secret });
}

/** Consecutive results of a lookup; the last one repeats. */
function namesOf(...answers: readonly (readonly string[])[]): NameResolver & { asked: number } {
  return {
    asked: 0,
    async resolve() {
      const addresses = answers[Math.min(this.asked, answers.length - 1)] ?? [];
      this.asked += 1;
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
  };
}

/** A server without HTTP. `connected` resolves with its first connection. */
async function rawServer(
  t: Ending,
  speak: (socket: Socket) => void,
): Promise<{ readonly port: number; readonly connected: Promise<unknown> }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    t.after(() => void socket.destroy());
    speak(socket);
  });
  const connected = once(server, 'connection');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return { port: (server.address() as AddressInfo).port, connected };
}

/** Shows whether the promise is still pending. */
function settling(answer: Promise<WebhookAnswer>): { answer: Promise<WebhookAnswer>; isSettled: boolean } {
  const sending = { answer, isSettled: false };
  void answer.then(() => (sending.isSettled = true));
  return sending;
}

function reasonOf(answer: WebhookAnswer): string {
  return answer.kind === 'delivered' ? '' : answer.reason;
}

test('a message arrives as a POST that the reference library verifies', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const answer = await senderOf(t).send(hookAt(`${receiver.url}?a=b`), message);
  assert.deepEqual(answer, { kind: 'delivered', status: 200 });
  const [received] = receiver.received;
  assert.deepEqual(received?.event, { id: 'event-1', text: 'Grüße' });
  const { method, path, headers } = received;
  assert.deepEqual([method, path], ['POST', '/hook?a=b']);
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['content-length'], String(Buffer.byteLength(message.body)));
  assert.equal(headers['user-agent'], 'Reveille/0.0.0');
  assert.equal(headers['webhook-id'], 'event-1');
});

test('a user and password of the URL are sent as basic authentication', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  await senderOf(t).send(hookAt(receiver.url.replace('//', '//user:p%40ss@')), message);
  const { host, authorization } = receiver.received[0]?.headers ?? {};
  assert.equal(host, new URL(receiver.url).host);
  assert.equal(authorization, `Basic ${Buffer.from('user:p@ss').toString('base64')}`);
});

test('another secret does not verify', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  await senderOf(t).send(hookAt(receiver.url, 'whsec_b3RoZXI='), message);
  assert.equal(receiver.received[0]?.event, null);
});

/** The answer to one message, with its receiver. */
async function sent(t: Ending, respond: Parameters<WebhookReceiver['answer']>[0]) {
  const receiver = await WebhookReceiver.start(t);
  receiver.answer(respond);
  return { receiver, answer: await senderOf(t).send(hookAt(receiver.url), message) };
}

for (const code of [200, 201, 204, 299])
  test(`${code} is delivered`, async (t) => {
    assert.deepEqual((await sent(t, status(code))).answer, { kind: 'delivered', status: code });
  });

for (const code of [300, 304, 400, 404, 429, 500, 503])
  test(`${code} is a failure`, async (t) => {
    const { answer } = await sent(t, status(code));
    assert.deepEqual([answer.kind, answer.status], ['failed', code]);
    assert.match(reasonOf(answer), new RegExp(`answered ${code}`));
  });

test('410 disables the webhook', async (t) => {
  assert.equal((await sent(t, status(410))).answer.kind, 'gone');
});

for (const code of [301, 302, 307, 308])
  test(`a redirect with ${code} is a failure and not followed`, async (t) => {
    const target = await WebhookReceiver.start(t);
    const { answer } = await sent(t, status(code, { location: target.url }));
    assert.match(reasonOf(answer), /redirects are not followed/);
    assert.equal(target.connections, 0);
  });

test('a connection is kept for the next message', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const sender = senderOf(t);
  for (let i = 0; i < 5; i++) await sender.send(hookAt(receiver.url), message);
  assert.equal(receiver.received.length, 5);
  assert.equal(receiver.connections, 1);
});

test('a kept connection closed by the receiver is no failure', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const sender = senderOf(t);
  // Closes when the next request has arrived unread, the worst moment of a receiver that closes a kept connection.
  receiver.answerInTurn(ok, (_response, _received, request) => request.socket.resetAndDestroy(), ok);
  await sender.send(hookAt(receiver.url), message);
  assert.equal((await sender.send(hookAt(receiver.url), message)).kind, 'delivered');
  assert.equal(receiver.connections, 2);
});

test('a receiver that resets every connection fails after at most two attempts', async (t) => {
  const { answer, receiver } = await sent(t, (_response, _received, request) =>
    request.socket.resetAndDestroy(),
  );
  assert.equal(answer.kind, 'failed');
  assert.ok(receiver.received.length <= 2);
});

test('a slow answer is waited for', async (t) => {
  const { answer } = await sent(t, (response) => {
    response.writeHead(200).write('slow');
    setImmediate(() => response.end('ly'));
  });
  assert.equal(answer.kind, 'delivered');
});

/** Ways in which a receiver can hang. */
const hanging: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'never answers': () => undefined,
  'never ends its answer': (response) => void response.writeHead(200).write('to be continued'),
};

for (const [what, hang] of Object.entries(hanging))
  test(`a receiver that ${what} has failed after 15 s`, async (t) => {
    const receiver = await WebhookReceiver.start(t);
    receiver.answer(hang);
    const clock = new DrivenClock();
    const sending = settling(
      senderOf(t, { clock, attemptMsMax: 15_000 }).send(hookAt(receiver.url), message),
    );
    await receiver.until(1);
    clock.advance(14_999);
    assert.equal(sending.isSettled, false);
    clock.advance(1);
    assert.deepEqual(await sending.answer, { kind: 'failed', status: null, reason: 'no answer within 15 s' });
    assert.equal(clock.pendingTimers, 0);
  });

test('a lookup without an answer is a failure after 15 s', async (t) => {
  const clock = new DrivenClock();
  let ask = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const resolver: NameResolver = {
    resolve() {
      ask();
      return new Promise(() => undefined);
    },
  };
  const sending = senderOf(t, { clock, attemptMsMax: 15_000, resolver }).send(
    hookAt('http://backend.example/'),
    message,
  );
  await asked;
  clock.advance(15_000);
  assert.equal(reasonOf(await sending), 'no answer within 15 s');
});

test('a TLS handshake that is never answered is a failure after 15 s', async (t) => {
  const clock = new DrivenClock();
  const { port, connected } = await rawServer(t, () => undefined);
  const sending = senderOf(t, { clock, attemptMsMax: 15_000 }).send(
    hookAt(`https://127.0.0.1:${port}/`),
    message,
  );
  await connected;
  clock.advance(15_000);
  assert.equal(reasonOf(await sending), 'no answer within 15 s');
});

test('a truncated answer is a failure', async (t) => {
  const { answer } = await sent(t, (response) => {
    response.writeHead(200, { 'content-length': '100' }).write('half of', () => response.destroy());
  });
  assert.deepEqual(answer, { kind: 'failed', status: null, reason: 'the answer (200) broke off' });
});

test('an answer is read up to 64 KiB, and its status counts', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  let written = 0;
  receiver.answer((response) => {
    response.writeHead(200);
    const chunk = Buffer.alloc(16 * 1024);
    const write = (): void => {
      while (!response.destroyed && response.write(chunk)) written += chunk.length;
    };
    response.on('drain', write);
    write();
  });
  const sender = senderOf(t);
  assert.deepEqual(await sender.send(hookAt(receiver.url), message), { kind: 'delivered', status: 200 });
  assert.ok(written < 64 * 1024 * 1024, 'nobody reads what goes on for ever');
  receiver.answer(ok);
  await sender.send(hookAt(receiver.url), message);
  assert.equal(receiver.connections, 2, 'its connection is not kept');
});

test('endless headers are a failure', async (t) => {
  const { port } = await rawServer(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${'x-filler: yes\r\n'.repeat(5000)}`);
  });
  const answer = await senderOf(t).send(hookAt(`http://127.0.0.1:${port}/`), message);
  assert.match(reasonOf(answer), /overflow/i);
});

test('a receiver that switches the protocol fails', async (t) => {
  const { answer } = await sent(t, (_response, _received, { socket }) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  });
  assert.equal(answer.kind, 'failed');
});

test('a refused connection is a failure with this reason', async (t) => {
  const endings: Parameters<Ending['after']>[0][] = [];
  const receiver = await WebhookReceiver.start({ after: (end) => void endings.push(end) });
  for (const end of endings) await end();
  const answer = await senderOf(t).send(hookAt(receiver.url), message);
  assert.match(reasonOf(answer), /ECONNREFUSED/);
});

test('an invalid secret is a failure with this reason, without the secret', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const answer = await senderOf(t).send(hookAt(receiver.url, 'not base64!'), message);
  assert.match(reasonOf(answer), /the webhook secret is not whsec_ followed by Base64/);
  assert.doesNotMatch(reasonOf(answer), /not base64!/);
  assert.equal(receiver.connections, 0);
});

for (const host of '127.0.0.1 [::1] [::ffff:127.0.0.1] 2130706433 0x7f.1 localhost 10.1.2.3'.split(' '))
  test(`${host} is refused without the setting before any connection`, async (t) => {
    const receiver = await WebhookReceiver.start(t);
    const url = receiver.url.replace('127.0.0.1', host);
    const answer = await senderOf(t, { allowLocal: false }).send(hookAt(url), message);
    assert.match(reasonOf(answer), /special address.*webhooks\.allow_local/);
    assert.equal(receiver.connections, 0);
  });

test('a host that resolves to a forbidden address is refused', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const sender = senderOf(t, { allowLocal: false, resolver: namesOf(['8.8.8.8', '127.0.0.1']) });
  const url = receiver.url.replace('127.0.0.1', 'backend.example');
  const answer = await sender.send(hookAt(url), message);
  assert.match(reasonOf(answer), /backend\.example: 127\.0\.0\.1 is a special address \(loopback\)/);
  assert.equal(receiver.connections, 0);
});

test('a name is resolved once for a connection, so that it cannot answer differently the second time', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const resolver = namesOf(['127.0.0.1'], ['192.0.2.1']);
  const sender = senderOf(t, { resolver });
  const url = receiver.url.replace('127.0.0.1', 'rebinding.example');
  assert.equal((await sender.send(hookAt(url), message)).kind, 'delivered');
  assert.equal(resolver.asked, 1);
  assert.equal(receiver.received[0]?.headers.host, new URL(url).host);
});

test('the connected address is checked again before a byte is sent', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  // Checked as one address, connected to another: stands for any change in between.
  let readings = 0;
  const changing = {
    family: 4 as const,
    get address() {
      return readings++ === 0 ? '8.8.8.8' : '127.0.0.1';
    },
  };
  const sender = senderOf(t, { allowLocal: false, resolver: { resolve: async () => [changing] } });
  const { port } = new URL(receiver.url);
  const answer = await sender.send(hookAt(`http://backend.example:${port}/hook`), message);
  assert.match(reasonOf(answer), /^127\.0\.0\.1 is a special address/);
  assert.equal(receiver.received.length, 0);
});

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const skip = hasOpenssl ? false : 'no openssl here to make a certificate';

function makeCertificate(t: Ending): { readonly cert: string; readonly key: string; readonly file: string } {
  const directory = temporaryDirectory(t);
  const [keyFile, file] = [join(directory, 'key'), join(directory, 'crt')];
  const subject = ['-subj', '/CN=receiver', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', keyFile, '-out', file];
  execFileSync('openssl', ['req', '-x509', ...key, ...files, ...subject], { stdio: 'ignore' });
  return { cert: readFileSync(file, 'utf8'), key: readFileSync(keyFile, 'utf8'), file };
}

test('a self-signed certificate is refused, and the reason explains how to trust it', { skip }, async (t) => {
  const receiver = await WebhookReceiver.start(t, makeCertificate(t));
  const answer = await senderOf(t).send(hookAt(receiver.url), message);
  assert.match(reasonOf(answer), /certificate is not trusted .*NODE_EXTRA_CA_CERTS/);
  assert.equal(receiver.received.length, 0);
});

test('a certificate in NODE_EXTRA_CA_CERTS is trusted', { skip }, async (t) => {
  const certificate = makeCertificate(t);
  const receiver = await WebhookReceiver.start(t, certificate);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...runArgs(moduleBeside('webhook-send-process', import.meta.url)), receiver.url, receiverSecret],
    { env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate.file } },
  );
  assert.deepEqual(JSON.parse(stdout), { kind: 'delivered', status: 200 });
  assert.deepEqual(receiver.received[0]?.event, {});
});

test('closing ends pending attempts', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  receiver.answer(() => undefined);
  const sender = senderOf(t);
  const sending = sender.send(hookAt(receiver.url), message);
  await receiver.until(1);
  sender.close();
  assert.match(reasonOf(await sending), /the server stops/);
});
