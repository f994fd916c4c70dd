/** Holds the server's ends of legs, by WebSocket and by WebRTC, and sends back each frame that comes. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { PeerSet } from '../../src/media/webrtc/peer-set.ts';
import { openRtcEngine } from '../../src/media/webrtc/rtc-engine.ts';
import type { RtcPeer } from '../../src/media/webrtc/rtc-peer.ts';
import { decodeFrameHeader, encodeFrameHeader, framePayload } from '../../src/protocol/media/frame-header.ts';
import { findFreePort } from '../../test/support/free-port.ts';
import { echoService, type EchoProtocol } from './echo-protocol.ts';
import { answerQuestions } from './ipc.ts';

const port = await findFreePort('127.0.0.1');
const transport = { host: '127.0.0.1', ports: { first: port, last: port } };
const settings = {
  findTransport: () => transport,
  advertise: [],
  peersMax: 1000,
  connectingPerAddressMax: 1000,
};
const peers = new PeerSet(settings, new SystemClock(), await openRtcEngine());

const nothing = (): void => undefined;

function openEcho(): RtcPeer {
  let isSending = false;
  const opened = peers.open('127.0.0.1', {
    connected: nothing,
    video: (accessUnit, _isKey, timestampMs) => {
      if (isSending) return;
      isSending = true;
      peer.sendVideo(accessUnit, timestampMs, () => (isSending = false));
    },
    audio: (_format, packet, timestampMs) => peer.sendAudio(packet, timestampMs),
    command: nothing,
    keyFrameWanted: nothing,
    bitrate: nothing,
    gone: nothing,
  });
  if (!opened.ok) throw new Error(opened.error);
  const peer = opened.value;
  return peer;
}

answerQuestions<EchoProtocol>(echoService, {
  listen: async () => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
    server.on('connection', (socket) => {
      socket.on('message', (message: Buffer) => {
        const header = decodeFrameHeader(message);
        if (header.ok) socket.send(Buffer.concat([encodeFrameHeader(header.value), framePayload(message)]));
      });
    });
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  },
  answer: async (offer) => {
    const answer = await openEcho().answer(offer);
    if (!answer.ok) throw new Error(answer.error.sentence);
    return answer.value;
  },
  spent: () => {
    const { user, system } = process.cpuUsage();
    return { cpuSeconds: (user + system) / 1e6, bytes: process.memoryUsage.rss() };
  },
});
