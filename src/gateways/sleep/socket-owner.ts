/**
 * Which object a socket's events go to. Listeners are shared by all sockets and find the owner on the socket
 * itself: a connection costs no closure, and a finished handshake hands its socket over by changing one field.
 */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

export interface SocketOwner {
  received(chunk: Buffer): void;
  /** The peer's FIN. */
  peerEnded(): void;
  /** An error, or gone without a FIN. Called for sockets that are over already, too. */
  failed(): void;
}

const owner = Symbol('owner');
type OwnedSocket = Socket & { [owner]?: SocketOwner };

function onData(this: OwnedSocket, chunk: Buffer): void {
  this[owner]?.received(chunk);
}

function onEnd(this: OwnedSocket): void {
  this[owner]?.peerEnded();
}

function onFailure(this: OwnedSocket): void {
  this[owner]?.failed();
}

/** Sends the socket's events to `to`; its bytes only once `startReading` is called. */
export function adoptSocket(socket: Socket, to: SocketOwner): void {
  (socket as OwnedSocket)[owner] = to;
  socket.on('end', onEnd);
  socket.on('error', onFailure);
  socket.on('close', onFailure);
  // Without a tls.Server around it, a TLS socket tells its protocol errors by this event only.
  if (socket instanceof TLSSocket) socket.on('_tlsError', onFailure);
}

/** TLS has taken the socket's handle: it is nobody's, and a late error of its own is of no interest. */
export function releaseSocket(socket: Socket): void {
  delete (socket as OwnedSocket)[owner];
}

export function startReading(socket: Socket): void {
  socket.on('data', onData);
}

/** What arrives from now on stays in the socket's buffer. */
export function stopReading(socket: Socket): void {
  socket.off('data', onData);
  socket.pause();
}

/** The same listeners, another owner. */
export function handOverSocket(socket: Socket, to: SocketOwner): void {
  (socket as OwnedSocket)[owner] = to;
}
