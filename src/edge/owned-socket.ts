/** Sockets with an owner: the object that receives their events. Source: sleep-wire.md. */
import type { Socket } from 'node:net';
import { TLSSocket, type SecureContext } from 'node:tls';
import { EndedPeers } from './ended-peers.ts';

export interface SocketOwner {
  received(chunk: Buffer): void;
  /** The peer's FIN. */
  peerEnded(): void;
  /** An error, or a close without a FIN. Also called for sockets that have ended already. */
  failed(): void;
}

/*
 * All sockets share the same listeners, which find the owner on the socket: a connection costs no closure, and a finished handshake
 * hands its socket over by changing one field.
 */
const owner = Symbol('owner');
type OwnedSocket = Socket & { [owner]?: SocketOwner };

const ended = new EndedPeers<OwnedSocket>((socket) => socket[owner]?.peerEnded());

function onData(this: OwnedSocket, chunk: Buffer): void {
  this[owner]?.received(chunk);
}

function onEnd(this: OwnedSocket): void {
  ended.add(this);
}

/** A peer that had sent its FIN was not cut off. */
function onFailure(this: OwnedSocket): void {
  if (this.readableEnded) this[owner]?.peerEnded();
  this[owner]?.failed();
}

/** Sends the socket's events to `to`, but its bytes only after `startReading`. */
export function adoptSocket(socket: Socket, to: SocketOwner): void {
  (socket as OwnedSocket)[owner] = to;
  socket.on('end', onEnd);
  socket.on('error', onFailure);
  socket.on('close', onFailure);
  // Without a tls.Server around it, a TLS socket emits its protocol errors as this event only.
  if (socket instanceof TLSSocket) socket.on('_tlsError', onFailure);
}

/** Removes the owner after TLS has taken the socket's handle; late errors of the plain socket are ignored. */
export function releaseSocket(socket: Socket): void {
  delete (socket as OwnedSocket)[owner];
}

/** Wraps the socket in TLS; events of the returned socket go to `to`. It emits `secure` when it may be read. */
export function encryptSocket(socket: Socket, secureContext: SecureContext, to: SocketOwner): TLSSocket {
  const encrypted = new TLSSocket(socket, { isServer: true, secureContext });
  releaseSocket(socket);
  adoptSocket(encrypted, to);
  return encrypted;
}

export function startReading(socket: Socket): void {
  socket.on('data', onData);
}

/** Leaves bytes that arrive from now on in the socket's buffer. */
export function stopReading(socket: Socket): void {
  socket.off('data', onData);
  socket.pause();
}

/** The peer's address; empty when it has disconnected. Clears the copy that Node caches, 88 bytes a socket: it is read once only. */
export function askAddress(socket: Socket): string {
  const address = socket.remoteAddress ?? '';
  (socket as { _peername?: unknown })._peername = undefined;
  return address;
}

/** Changes the owner; the listeners stay. */
export function handOverSocket(socket: Socket, to: SocketOwner): void {
  (socket as OwnedSocket)[owner] = to;
}
