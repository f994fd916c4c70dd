import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, connect as connectPlain, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../../../../src/lib/clock.ts';
import { SystemClock } from '../../../../src/lib/system-clock.ts';
import {
  linkConnectionsMax,
  linkHandshakeMsMax,
  linkHandshakesPerAddressMax,
} from '../../../../src/model/limits.ts';
import { connectPsk, listenPsk } from '../../../../src/lib/link/psk-transport.ts';
import { mediaPsk } from '../../../../src/media/link/media-language.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

const host = '127.0.0.1';
const key = Buffer.alloc(32, 1);
const clock = new SystemClock();

/** A listener on a free port, with its links and refusals. */
class Door {
  readonly #links: Duplex[] = [];
  readonly #refusals: string[] = [];
  #happened: () => void = () => undefined;
  port = 0;

  static async open(t: TestContext, shared = key, time: Clock = clock): Promise<Door> {
    const door = new Door();
    const listener = await listenPsk(
      { host, port: 0, key: shared },
      mediaPsk,
      time,
      (link) => door.#push(door.#links, link),
      (sentence) => door.#push(door.#refusals, sentence),
    );
    door.port = listener.port;
    t.after(() => {
      for (const link of door.#links) link.destroy();
      listener.close();
    });
    return door;
  }

  link(): Promise<Duplex> {
    return this.#first(this.#links);
  }

  refusal(): Promise<string> {
    return this.#first(this.#refusals);
  }

  async #first<Item>(items: Item[]): Promise<Item> {
    while (items.length === 0) await new Promise<void>((resolve) => (this.#happened = resolve));
    return items[0] as Item;
  }

  #push<Item>(items: Item[], item: Item): void {
    items.push(item);
    this.#happened();
  }
}

for (const bytes of [32, 4096])
  test(`two ends with one key of ${bytes} bytes have a link`, async (t) => {
    const shared = Buffer.alloc(bytes, 7);
    const door = await Door.open(t, shared);
    const there = await connectPsk({ host, port: door.port, key: shared }, mediaPsk, clock);
    const here = await door.link();
    there.write('from the media process');
    assert.equal(String((await once(here, 'data'))[0]), 'from the media process');
    here.end('from the server');
    assert.equal(String((await once(there, 'data'))[0]), 'from the server');
    await once(there, 'close');
  });

test('ends with different keys have no link, and both report it', async (t) => {
  const door = await Door.open(t);
  await assert.rejects(connectPsk({ host, port: door.port, key: Buffer.alloc(32, 2) }, mediaPsk, clock), {
    message: `no link to ${host}:${door.port}: it has another key: give both ends the same media.link_key_file`,
  });
  assert.equal(
    await door.refusal(),
    `a peer at ${host} has another key for the link: give both ends the same media.link_key_file`,
  );
});

test('a peer that speaks TLS without the key, or no TLS, is refused', async (t) => {
  const door = await Door.open(t);
  const stranger = connectTls({ host, port: door.port, rejectUnauthorized: false });
  await assert.rejects(once(stranger, 'secureConnect'));
  assert.equal(
    await door.refusal(),
    `a peer at ${host} connected to the port of the link but is no media process: no shared cipher`,
  );
  const other = await Door.open(t);
  const plain = connectPlain(other.port, host);
  plain.on('error', () => undefined);
  plain.end('GET / HTTP/1.1\r\n\r\n');
  assert.match(await other.refusal(), /^a peer at 127\.0\.0\.1 connected to the port of the link/);
});

test('without a listener there is no link', async () => {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  await assert.rejects(connectPsk({ host, port, key }, mediaPsk, clock), {
    message: `no link to ${host}:${port}: connect ECONNREFUSED ${host}:${port}`,
  });
});

test('a server that does not answer is given up', async (t) => {
  const server = createServer().listen(0, host);
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const driven = new DrivenClock();
  const link = connectPsk({ host, port, key }, mediaPsk, driven);
  const [socket] = (await once(server, 'connection')) as [Duplex];
  driven.advance(linkHandshakeMsMax);
  await assert.rejects(link, {
    message: `no link to ${host}:${port}: no answer within ${linkHandshakeMsMax} ms`,
  });
  assert.equal(driven.pendingTimers, 0);
  socket.destroy();
});

/** The header of a TLS handshake record, and of a ClientHello that never ends. */
const helloBegins = Buffer.from('16030102000100', 'hex');

test('a peer that shows no key within 10 s is cut, even if it sends a byte now and then', async (t) => {
  const driven = new DrivenClock();
  const door = await Door.open(t, key, driven);
  const peers = [connectPlain(door.port, host), connectPlain(door.port, host)];
  const ends = peers.map((peer) => {
    peer.on('error', () => undefined).resume();
    return new Promise((closed) => peer.once('close', closed));
  });
  while (driven.pendingTimers < peers.length) await new Promise((turned) => setImmediate(turned));
  for (const byte of helloBegins) {
    peers[0]?.write(Buffer.of(byte));
    driven.advance(linkHandshakeMsMax / helloBegins.length);
  }
  await Promise.all(ends);
  assert.equal(driven.pendingTimers, 0);
  assert.match(await door.refusal(), /connected to the port of the link but is no media process/);
});

test('many addresses without a key yield to a media process, and a link does not', async (t) => {
  const driven = new DrivenClock();
  const door = await Door.open(t, key, driven);
  const first = await connectPsk({ host, port: door.port, key }, mediaPsk, clock);
  const here = await door.link();
  const ends: Promise<unknown>[] = [];
  for (let i = 0; i < linkConnectionsMax; i++) {
    const localAddress = `127.0.4.${1 + Math.floor(i / linkHandshakesPerAddressMax)}`;
    const peer = connectPlain({ port: door.port, host, localAddress });
    peer.on('error', () => undefined).resume();
    t.after(() => peer.destroy());
    ends.push(new Promise((closed) => peer.once('close', closed)));
    await once(peer, 'connect');
  }
  while (driven.pendingTimers < linkConnectionsMax) await new Promise((turned) => setImmediate(turned));
  const second = await connectPsk({ host, port: door.port, key }, mediaPsk, clock);
  t.after(() => second.destroy());
  await ends[0];
  first.write('still here');
  assert.equal(String((await once(here, 'data'))[0]), 'still here');
});

test('a peer that has shown the key stays', async (t) => {
  const driven = new DrivenClock();
  const door = await Door.open(t, key, driven);
  const there = await connectPsk({ host, port: door.port, key }, mediaPsk, clock);
  const here = await door.link();
  driven.advance(10 * linkHandshakeMsMax);
  there.write('still here');
  assert.equal(String((await once(here, 'data'))[0]), 'still here');
});
