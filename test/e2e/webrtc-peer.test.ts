/** A WebRTC peer with a client of another stack on real sockets: pictures, sound, channels, what is lost, and the end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liveConnections } from '../../src/media/webrtc/rtc-engine.ts';
import { KeptOwner } from '../support/kept-rtc-owner.ts';
import { openPeer, openPeers, RtcClient } from '../support/rtc-client.ts';

const key = Buffer.from('6742e01f0000000168ce06e20000000165888040', 'hex');
const annexB = Buffer.concat([Buffer.from('00000001', 'hex'), key]);

test('pictures, sound and commands go both ways, and the library holds nothing behind the end', async (t) => {
  const peers = await openPeers(t);
  const owner = new KeptOwner();
  const client = await RtcClient.open(t);
  const peer = openPeer(peers, owner);
  await client.connect(peer, owner);

  assert.deepEqual(peer.agreed, {
    audioDown: { format: 'opus', rate: 48_000, channels: 1 },
    audioUp: { format: 'opus', rate: 48_000, channels: 1 },
    videoDown: true,
    videoUp: true,
    pictures: true,
  });
  const sent = new Promise<void>((resolve) => peer.sendVideo(annexB, 5000, resolve));
  peer.sendAudio(Buffer.from('f8aabb', 'hex'), 5000);
  peer.sendCommand(0x2000);
  await sent;
  await client.until('audio f8aabb');
  await client.until('commands 2000');
  await client.until('video 7800046742e01f000468ce06e2000465888040');

  client.sendVideo(65_535, 1000, Buffer.from('6588', 'hex'));
  client.sendVideo(0, 4000, Buffer.from('4199', 'hex'));
  client.sendAudio(9, 100, Buffer.from('f80102', 'hex'));
  client.send('commands', Buffer.from('2001', 'hex'));
  await owner.until('video 000000016588 key');
  await owner.until('video 000000014199');
  await owner.until('audio opus f80102');
  await owner.until('command 0x2001');
  await new Promise<void>((resolve) => peer.sendPicture(Buffer.from('ffd8ffd9', 'hex'), resolve));
  await client.until('pictures ffd8ffd9');

  assert.equal(liveConnections(), 1);
  peer.close();
  assert.deepEqual([peers.count, liveConnections()], [0, 0]);
});
