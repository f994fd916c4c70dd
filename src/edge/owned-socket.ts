/** Sockets that know the object their events go to. Source: sleep-wire.md. */
import type { Socket } from 'node:net';
import { TLSSocket, type SecureContext } from 'node:tls';
import { EndedPeers } from './ended-peers.ts';

/** The object that a socket's events go to. */
export interface SocketOwner {
  received(chunk: Buffer): void;
  /** The peer's FIN. */
  peerEnded(): void;
  /** An error, or gone without a FIN. Called for sockets that are over already, too. */
  failed(): void;
}

/*
 * Listeners are shared by all sockets and find the owner on the socket itself: a connection costs no closure, and a
 * finished handshake hands its socket over by changing one field.
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

/** A peer that has hung up before was not cut off. */
function onFailure(this: OwnedSocket): void {
  if (this.readableEnded) this[owner]?.peerEnded();
  this[owner]?.failed();
}

/** Sends the socket's events to `to`; its bytes only once `startReading` is called. */
export function adoptSocket(socket: Socket, to: SocketOwner): void {
  (socket as OwnedSocket)[owner] = to;
  socket.on('end', onEnd);
  socket.on('error', onFailure);
  socket.on('close', onFailure);
  // Without a tls.Server around it, a TLS socket emits its protocol errors as this event only.
  if (socket instanceof TLSSocket) socket.on('_tlsError', onFailure);
}

/** TLS has taken the socket's handle: it has no owner, and a late error of its own is of no interest. */
export function releaseSocket(socket: Socket): void {
  delete (socket as OwnedSocket)[owner];
}

/** Puts TLS on the socket, and sends the events of the socket returned to `to`. It emits `secure` when it may be read. */
export function encryptSocket(socket: Socket, secureContext: SecureContext, to: SocketOwner): TLSSocket {
  const encrypted = new TLSSocket(socket, { isServer: true, secureContext });
  releaseSocket(socket);
  adoptSocket(encrypted, to);
  return encrypted;
}

export function startReading(socket: Socket): void {
  socket.on('data', onData);
}

/** Bytes that arrive from now on stay in the socket's buffer. */
export function stopReading(socket: Socket): void {
  socket.off('data', onData);
  socket.pause();
}

/**
 * The peer's address; empty when it is gone. Node keeps its answer on the socket, for as long as that lives, 88 bytes of
 * it, and nobody asks twice.
 */
export function askAddress(socket: Socket): string {
  const address = socket.remoteAddress ?? '';
  (socket as { _peername?: unknown })._peername = undefined;
  return address;
}

/** The same listeners, another owner. */
export function handOverSocket(socket: Socket, to: SocketOwner): void {
  (socket as OwnedSocket)[owner] = to;
}
