/** A WebRTC peer with a client of another stack on real sockets: video, sound, channels, loss, and the end. */
import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import {
  GenericNack,
  PictureLossIndication,
  RtcpPayloadSpecificFeedback,
  RtcpTransportLayerFeedback,
  RtpHeader,
} from 'werift';
import { provingGraceMs } from '../../src/lib/connections/crowd.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { liveConnections, openRtcEngine } from '../../src/media/webrtc/rtc-engine.ts';
import {
  rtcConnectingPerAddressMax,
  rtcConnectMsMax,
  rtcSourcesMax,
} from '../../src/model/media/rtc-limits.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { KeptOwner } from '../support/kept-rtc-owner.ts';
import { openPeer, openPeers, RtcClient } from '../support/rtc-client.ts';
import { chanceFrom } from '../support/seeded-random.ts';

const key = Buffer.from('6742e01f0000000168ce06e20000000165888040', 'hex');
const annexB = Buffer.concat([Buffer.from('00000001', 'hex'), key]);

test('video, sound and commands go both ways, and the library frees everything after the end', async (t) => {
  const peers = await openPeers(t);
  const owner = new KeptOwner();
  const client = await RtcClient.open(t);
  const peer = openPeer(peers, owner);
  await client.connect(peer, owner);

  assert.deepEqual(peer.agreed, {
    audioDown: { format: 'opus', rate: 48_000, channels: 1 },
    videoDown: true,
    pictures: true,
  });
  const sent = new Promise<void>((resolve) => peer.sendVideo(annexB, 5000, resolve));
  peer.sendAudio(Buffer.from('f8aabb', 'hex'), 5000);
  peer.sendCommand(0x2000);
  await sent;
  await client.until('audio f8aabb');
  await client.until('commands 00200000');
  await client.until('video 7800046742e01f000468ce06e2000465888040');

  client.sendVideo(65_535, 1000, Buffer.from('6588', 'hex'));
  client.sendVideo(0, 4000, Buffer.from('4199', 'hex'));
  client.sendAudio(9, 100, Buffer.from('f80102', 'hex'));
  client.send('commands', Buffer.from('01200000', 'hex'));
  await owner.untilRecorded('video 000000016588 key');
  await owner.untilRecorded('video 000000014199');
  await owner.untilRecorded('audio opus f80102');
  await owner.untilRecorded('command 0x2001');
  await new Promise<void>((resolve) => peer.sendPicture(Buffer.from('ffd8ffd9', 'hex'), resolve));
  await client.until('pictures ffd8ffd9');

  assert.equal(liveConnections(), 1);
  peer.close();
  assert.deepEqual([peers.count, liveConnections()], [0, 0]);
});

test('20 pictures of four slices, each with a marker, arrive as 20 access units, including the last', async (t) => {
  const peers = await openPeers(t);
  const owner = new KeptOwner();
  const client = await RtcClient.open(t);
  await client.connect(openPeer(peers, owner), owner);
  const slices = (index: number): string[] =>
    ['88', '42', '24', '12'].map((head) => `${index === 0 ? '65' : '41'}${head}${index + 1000}`);
  const expected = Array.from({ length: 20 }, (_, index) => {
    const unit = slices(index).map((slice) => `00000001${slice}`);
    return `video ${unit.join('')}${index === 0 ? ' key' : ''}`;
  });
  for (const index of expected.keys())
    for (const [slice, payload] of slices(index).entries())
      client.sendVideo(index * 4 + slice, index * 6000, Buffer.from(payload, 'hex'));
  await owner.untilRecorded(expected.at(-1) ?? '');
  assert.deepEqual(
    owner.lines.filter((line) => line.startsWith('video ')),
    expected,
  );
});

test('a command is repeated on a channel that the client opens later', async (t) => {
  const peers = await openPeers(t);
  const owner = new KeptOwner();
  const client = await RtcClient.open(t, ['pictures']);
  const peer = openPeer(peers, owner);
  await client.connect(peer, owner);
  peer.sendCommand(0x2000);
  await client.until('commands 00200000');
  client.came.length = 0;
  client.openChannel('commands');
  await client.until('commands 00200000');
});

test('a client with only data channels is answered, and its close ends the peer', async (t) => {
  const peers = await openPeers(t);
  const owner = new KeptOwner();
  const peer = openPeer(peers, owner);
  const engine = await openRtcEngine();
  assert(engine.ok);
  const client = new engine.value.library.PeerConnection('client', { iceServers: [] });
  t.after(() => client.close());
  // The library frees a connection only on this call.
  client.onStateChange(() => undefined);
  const offered = new Promise<string>((resolve) => {
    client.onGatheringStateChange((state) => {
      if (state === 'complete') resolve(client.localDescription()?.sdp ?? '');
    });
  });
  const commands = client.createDataChannel('commands');
  t.after(() => commands.close());
  const opened = new Promise<void>((resolve) => commands.onOpen(resolve));
  commands.onClosed(() => undefined);
  const answer = await peer.answer(await offered);
  assert(answer.ok);
  client.setRemoteDescription(answer.value, 'answer');
  await opened;
  commands.sendMessageBinary(Buffer.from('01200000', 'hex'));
  await owner.untilRecorded('command 0x2001');
  client.close();
  await owner.untilRecorded('gone: the client has ended the connection, or does not answer');
  assert.deepEqual([peers.count, liveConnections()], [0, 0]);
});

/** Lines of a transport before the first section, a profile without feedback, other line ends and another order of the group. */
function rewritten(offer: string, role: string): string {
  const transport = /^a=(?:ice-ufrag|ice-pwd|fingerprint|setup|ice-options|candidate|end-of-candidates)\b/;
  const [head = '', ...sections] = offer.split(/(?=^m=)/m);
  const shared = (sections[0] ?? '').split('\r\n').filter((line) => /^a=(?:ice-|fingerprint)/.test(line));
  const bare = sections.map((section) =>
    section
      .split('\r\n')
      .filter((line) => !transport.test(line))
      .join('\n'),
  );
  const mids = sections.map((section) => /^a=mid:(.*)$/m.exec(section)?.[1]).reverse();
  const session = head
    .replaceAll('\r\n', '\n')
    .replace(/^a=group:BUNDLE.*$/m, `a=group:BUNDLE ${mids.join(' ')}`);
  return `${session}${shared.join('\n')}\na=setup:${role}\n${bare.join('')}`.replaceAll('SAVPF', 'SAVP');
}

for (const role of ['actpass', 'active', 'passive'])
  test(`RFC 9429, 5.3.1: a transport of the session connects, with the setup ${role}`, async (t) => {
    const peers = await openPeers(t);
    const owner = new KeptOwner();
    const client = await RtcClient.open(t);
    const peer = openPeer(peers, owner);
    const answer = await peer.answer(rewritten(await client.offer(), role));
    assert(answer.ok, answer.ok ? '' : answer.error.sentence);
    await client.connection.setRemoteDescription({ type: 'answer', sdp: answer.value });
    await owner.untilRecorded('connected');
    peer.sendAudio(Buffer.from('f8aa', 'hex'), 0);
    await client.until('audio f8aa');
    client.sendVideo(1, 1000, Buffer.from('6588', 'hex'));
    await owner.untilRecorded('video 000000016588 key');
  });

for (const hash of ['sha-384', 'sha-512'])
  test(`RFC 8122, 5: a client is known by a fingerprint of ${hash}`, async (t) => {
    const peers = await openPeers(t);
    const owner = new KeptOwner();
    const client = await RtcClient.open(t);
    const peer = openPeer(peers, owner);
    const offer = await client.offer();
    const certificate = new X509Certificate(
      client.connection.dtlsTransports[0]?.localCertificate?.certPem ?? '',
    );
    const digest = createHash(hash.replace('-', '')).update(certificate.raw).digest('hex');
    const fingerprint = `a=fingerprint:${hash} ${digest.match(/../g)?.join(':') ?? ''}`;
    const answer = await peer.answer(offer.replaceAll(/^a=fingerprint:.*$/gm, fingerprint));
    assert(answer.ok, answer.ok ? '' : answer.error.sentence);
    await client.connection.setRemoteDescription({ type: 'answer', sdp: answer.value });
    await owner.untilRecorded('connected');
  });

test('lost packets are retransmitted on request, and a request for a key frame is reported', async (t) => {
  const peers = await openPeers(t);
  const owner = new KeptOwner();
  const client = await RtcClient.open(t);
  const peer = openPeer(peers, owner);
  await client.connect(peer, owner);
  peer.sendVideo(Buffer.from('000000016588', 'hex'), 0, () => undefined);
  await client.until('video 6588');
  const [first] = client.packets;
  client.came.length = 0;
  await client.feedBack(({ ssrc, sequence }) => [
    new RtcpTransportLayerFeedback({
      feedback: new GenericNack({ senderSsrc: 1, mediaSourceSsrc: ssrc, lost: [sequence] }),
    }),
    new RtcpPayloadSpecificFeedback({
      feedback: new PictureLossIndication({ senderSsrc: 1, mediaSsrc: ssrc }),
    }),
  ]);
  await owner.untilRecorded('key frame wanted');
  await client.until('video 6588');
  assert.equal(client.packets.at(-1)?.packet.header.sequenceNumber, first?.packet.header.sequenceNumber);
});

test('trickled candidates are accepted without an ICE restart, and the connection stays', async (t) => {
  const peers = await openPeers(t);
  const owner = new KeptOwner();
  const client = await RtcClient.open(t);
  const peer = openPeer(peers, owner);
  await client.connect(peer, owner);
  const offer = client.connection.localDescription?.sdp ?? '';
  const lines = offer
    .split('\r\n')
    .filter((line) => /^a=ice-(?:ufrag|pwd)/.test(line))
    .slice(0, 2);
  const candidate =
    'm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=candidate:1 1 UDP 1 10.1.2.3 9 typ host\r\n';
  assert.deepEqual(peer.patch(`${lines.join('\r\n')}\r\n${candidate}`), { ok: true, value: null });
  const restart = peer.patch(`a=ice-ufrag:fresh\r\na=ice-pwd:${'q'.repeat(24)}\r\n${candidate}`);
  assert(!restart.ok);
  assert.match(restart.error, /^ICE restart is not supported: .* another offer with the same token$/);
  peer.sendAudio(Buffer.from('f8aa', 'hex'), 0);
  await client.until('audio f8aa');
});

test('a client with more sources than the limit is closed with the reason, and one at the limit is not', async (t) => {
  const peers = await openPeers(t);
  const owner = new KeptOwner();
  const client = await RtcClient.open(t);
  await client.connect(openPeer(peers, owner), owner);
  const [transport] = client.connection.dtlsTransports;
  assert(transport !== undefined);
  const send = (ssrc: number): Promise<unknown> =>
    transport.sendRtp(
      Buffer.from('6588', 'hex'),
      new RtpHeader({ payloadType: 97, sequenceNumber: 1, ssrc }),
    );
  for (let ssrc = 1; ssrc <= rtcSourcesMax - 2; ssrc += 1) await send(ssrc);
  // Its reports have a source, too.
  client.sendAudio(9, 100, Buffer.from('f80102', 'hex'));
  await owner.untilRecorded('audio opus f80102');
  for (let ssrc = rtcSourcesMax; ssrc <= rtcSourcesMax + 3; ssrc += 1) await send(ssrc);
  await owner.untilRecorded(`gone: a client has ${rtcSourcesMax} sources at most`);
  assert.equal(liveConnections(), 0);
});

test('a connection that is never established times out, and one address may have a limited number', async (t) => {
  const clock = new DrivenClock();
  const peers = await openPeers(t, 1000, clock);
  const client = await RtcClient.open(t);
  const offer = await client.offer();
  const owners = Array.from({ length: rtcConnectingPerAddressMax }, () => new KeptOwner());
  const answers = await Promise.all(owners.map((owner) => openPeer(peers, owner).answer(offer)));
  assert(answers.every(({ ok }) => ok));
  assert.deepEqual(peers.open('127.0.0.1', new KeptOwner()), { ok: false, error: 'busy' });
  assert.equal(peers.open('192.0.2.9', new KeptOwner()).ok, true);
  clock.advance(rtcConnectMsMax);
  assert.deepEqual(owners[0]?.lines, [`gone: no connection was made within ${rtcConnectMsMax / 1000} s`]);
  assert.deepEqual([peers.count, liveConnections()], [0, 0]);
  assert.equal(peers.open('127.0.0.1', new KeptOwner()).ok, true);
});

test('pending connections are evicted for a new one, the oldest of the busiest address first', async (t) => {
  const clock = new DrivenClock();
  const peers = await openPeers(t, 5, clock);
  const connected = new KeptOwner();
  const client = await RtcClient.open(t);
  await client.connect(openPeer(peers, connected), connected);
  const silent = ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'].map((address) => {
    const owner = new KeptOwner();
    assert.equal(peers.open(address, owner).ok, true);
    return owner;
  });
  assert.equal(peers.open('192.0.2.9', new KeptOwner()).ok, true);
  const sentence = 'gone: too many connections are being established, and a newer one replaced it';
  assert.deepEqual(
    silent.map(({ lines }) => lines),
    [[sentence], [], [], []],
  );
  assert.equal(peers.open('192.0.2.1', new KeptOwner()).ok, false);
  clock.advance(provingGraceMs);
  assert.equal(peers.open('192.0.2.1', new KeptOwner()).ok, true);
  assert.equal(
    connected.lines.some((word) => word.startsWith('gone')),
    false,
  );
});

test('a peer closed during its answer reports it, and leaves nothing', async (t) => {
  const peers = await openPeers(t);
  const client = await RtcClient.open(t);
  const peer = openPeer(peers, new KeptOwner());
  const answer = peer.answer(await client.offer());
  peer.close();
  const sentence = 'the connection cannot be made: it was closed';
  assert.deepEqual(await answer, { ok: false, error: { status: 503, sentence } });
  assert.deepEqual([peers.count, liveConnections()], [0, 0]);
});

/** Another program's UDP socket. Rejects when the port is not free. */
async function bindUdp(port = 0): Promise<Socket> {
  const socket = createSocket('udp4').bind(port, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}

/** A port in use by another program, above a free one. */
async function portAboveAFreeOne(t: TestContext): Promise<number> {
  for (;;) {
    const socket = await bindUdp();
    t.after(() => socket.close());
    const { port } = socket.address();
    const below = await bindUdp(port - 1).catch(() => null);
    if (below === null) continue;
    below.close();
    await once(below, 'close');
    return port;
  }
}

test('a UDP port of another program is reported as in use, without an effect on other connections', async (t) => {
  const port = await portAboveAFreeOne(t);
  const peers = await openPeers(t, 10, new SystemClock(), { first: port, last: port });
  const owner = new KeptOwner();
  const client = await RtcClient.open(t);
  const answer = await openPeer(peers, owner).answer(await client.offer());
  const sentence = `the connection cannot be made: UDP port ${port} is in use or cannot be bound`;
  assert.deepEqual(answer, { ok: false, error: { status: 503, sentence } });
  assert.deepEqual([owner.lines, peers.count, liveConnections()], [[`gone: ${sentence}`], 0, 0]);
});

test('each connection has a free port of the range, and further ones are refused', async (t) => {
  const port = await portAboveAFreeOne(t);
  const range = { first: port - 1, last: port };
  const peers = await openPeers(t, 10, new SystemClock(), range);
  const owner = new KeptOwner();
  const client = await RtcClient.open(t);
  const peer = openPeer(peers, owner);
  await client.connect(peer, owner);
  assert.equal(client.remotePort, port - 1);
  const offer = await (await RtcClient.open(t)).offer();
  const refused = await openPeer(peers, new KeptOwner()).answer(offer);
  assert(!refused.ok);
  assert.match(refused.error.sentence, /no UDP port of \d+-\d+ is free$/);
});

test('garbage on the UDP port has no effect, and the next client connects', async (t) => {
  const peers = await openPeers(t);
  const owner = new KeptOwner();
  const client = await RtcClient.open(t);
  const peer = openPeer(peers, owner);
  await client.connect(peer, owner);
  const attacker = createSocket('udp4');
  t.after(() => attacker.close());
  const chance = chanceFrom(0x57e8);
  const heads = ['000100002112a442', '16fefd0000000000', '8060000100000001', '80c80006', ''];
  const port = client.remotePort;
  for (let i = 0; i < 3000; i += 1) {
    const body = Buffer.from(Array.from({ length: chance.below(200) }, () => chance.below(256)));
    const packet = Buffer.concat([Buffer.from(heads[chance.below(heads.length)] ?? '', 'hex'), body]);
    await new Promise((resolve) => attacker.send(packet, port, '127.0.0.1', resolve));
  }
  peer.sendAudio(Buffer.from('f8aa', 'hex'), 0);
  await client.until('audio f8aa');
  const next = await RtcClient.open(t);
  const nextOwner = new KeptOwner();
  await next.connect(openPeer(peers, nextOwner), nextOwner);
  assert.deepEqual(owner.lines, ['connected']);
});
