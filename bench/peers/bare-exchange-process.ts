/**
 * The login's exchange on bare node:net: sends a session key, reads a line, answers OK and keeps the socket. It checks nothing and
 * stores nothing: the floor of a login on this platform.
 */
import type { Socket } from 'node:net';
import { generateSessionKey } from '../../src/lib/session-key.ts';
import { answerAsPeer, type PeerPorts } from './answer-as-peer.ts';
import { keepSockets } from './device-listener.ts';

const lineFeed = 0x0a;

function onData(this: Socket, chunk: Buffer): void {
  if (chunk.at(-1) === lineFeed) this.write('OK\n', 'latin1');
}

function sendKey(socket: Socket): void {
  socket.write(generateSessionKey(), 'latin1');
}

async function listen(): Promise<PeerPorts> {
  return { httpPort: 0, devicePort: await keepSockets(onData, sendKey) };
}

answerAsPeer(listen);
