/**
 * Bare node:net: accepts and keeps sockets, with the event listeners of one of our sessions, shared by all. It sends nothing, and
 * discards received data.
 */
import type { Socket } from 'node:net';
import { answerAsPeer, Arrivals, type PeerPorts } from './answer-as-peer.ts';
import { listenForDevices } from './device-listener.ts';

const arrivals = new Arrivals();
const sockets = new Set<Socket>();

function onData(): void {}

function onEnd(this: Socket): void {
  this.destroy();
}

function onFailure(this: Socket): void {
  sockets.delete(this);
}

function accept(socket: Socket): void {
  socket.on('data', onData);
  socket.on('end', onEnd);
  socket.on('error', onFailure);
  socket.on('close', onFailure);
  sockets.add(socket);
  arrivals.add();
}

async function listen(): Promise<PeerPorts> {
  return { httpPort: 0, devicePort: await listenForDevices(accept) };
}

answerAsPeer(listen, arrivals);
