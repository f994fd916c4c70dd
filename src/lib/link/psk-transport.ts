/**
 * A link over a network: TLS 1.2 with a pre-shared key, which authenticates both ends without certificates. The cipher has
 * forward secrecy: a key that leaks later does not decrypt recorded links.
 */
import { createHash } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { assert } from '../assert.ts';
import type { Clock } from '../clock.ts';
import { PendingConnections } from '../connections/pending-connections.ts';

export interface PskAddress {
  readonly host: string;
  /** 0: any free port to listen on. */
  readonly port: number;
  /** At least `linkKeyBytesMin` bytes, the same at both ends. */
  readonly key: Buffer;
}

/** A kind of link: its TLS identity, its bounds and its names in sentences. */
export interface PskKind {
  readonly identity: string;
  /** In sentences: `media process`. */
  readonly peer: string;
  /** Setting of the key: `media.link_key_file`. */
  readonly keySetting: string;
  readonly handshakeMsMax: number;
  readonly connectionsMax: number;
  readonly handshakesPerAddressMax: number;
}

export interface PskListener {
  readonly port: number;
  /** Stops accepting; open links continue. */
  close(): void;
}

export const linkKeyBytesMin = 32;

const cipher = {
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
} as const;

/** `onLink`: a peer has proved the key. `onRefused`: a peer has not; a sentence. Rejects like Node when it cannot listen. */
export function listenPsk(
  { host, port, key }: PskAddress,
  kind: PskKind,
  clock: Clock,
  onLink: (link: Duplex) => void,
  onRefused: (sentence: string) => void,
): Promise<PskListener> {
  const { identity, handshakeMsMax, connectionsMax, handshakesPerAddressMax } = kind;
  const psk = pskOf(key);
  const server = createServer({
    ...cipher,
    pskIdentityHint: identity,
    pskCallback: (_socket, shown) => (shown === identity ? psk : null),
  });
  const pending = new PendingConnections(clock, {
    waitMs: handshakeMsMax,
    perAddressMax: handshakesPerAddressMax,
    max: () => connectionsMax,
  });
  server.on('connection', (socket) => {
    socket.on('close', () => pending.closed(socket));
    pending.begin(socket);
  });
  server.on('secureConnection', (socket) => {
    pending.requested(socket);
    pending.proved(socket);
    if (!server.listening) socket.destroy();
    else onLink(made(socket));
  });
  server.on('tlsClientError', (error, { remoteAddress }) => {
    onRefused(`a peer at ${remoteAddress ?? 'an unknown address'} ${strangerFault(kind, error)}`);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      resolve({ port: (server.address() as AddressInfo).port, close: () => void server.close() });
    });
  });
}

/** Rejects with a sentence when the link cannot be opened. */
export function connectPsk({ host, port, key }: PskAddress, kind: PskKind, clock: Clock): Promise<Duplex> {
  const { identity, handshakeMsMax } = kind;
  const psk = pskOf(key);
  const socket = connect({
    ...cipher,
    host,
    port,
    pskCallback: () => ({ psk, identity }),
    // There is no certificate: the key authenticates the server.
    checkServerIdentity: () => undefined,
  });
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      reject(new Error(`no link to ${host}:${port}: ${serverFault(kind, error)}`, { cause: error }));
      socket.destroy();
    };
    const giveUp = clock.after(handshakeMsMax, () =>
      fail(new Error(`no answer within ${handshakeMsMax} ms`)),
    );
    socket.on('error', fail);
    socket.once('close', giveUp);
    socket.once('secureConnect', () => {
      giveUp();
      socket.off('error', fail);
      resolve(made(socket));
    });
  });
}

/** Hashes keys of every length to one length. */
function pskOf(key: Buffer): Buffer {
  assert(key.length >= linkKeyBytesMin, `the key of the link has ${linkKeyBytesMin} bytes at least`);
  return createHash('sha256').update(key).digest();
}

function made(socket: TLSSocket): Duplex {
  socket.setNoDelay(true);
  // Until the owner listens: an early error still shows on the stream itself.
  socket.on('error', () => undefined);
  return socket;
}

function strangerFault({ peer, keySetting }: PskKind, error: SslError): string {
  return isWrongKey(error)
    ? `has another key for the link: give both ends the same ${keySetting}`
    : `connected to the port of the link but is no ${peer}: ${wordsOf(error)}`;
}

function serverFault({ keySetting }: PskKind, error: SslError): string {
  return isWrongKey(error) ? `it has another key: give both ends the same ${keySetting}` : wordsOf(error);
}

/** `reason`: OpenSSL's text, without the position in its source. */
type SslError = Error & { readonly code?: unknown; readonly reason?: unknown };

function wordsOf({ message, reason }: SslError): string {
  return typeof reason === 'string' ? reason : message;
}

/** At either end: the first message under the key fails to decrypt. */
function isWrongKey({ code }: SslError): boolean {
  return typeof code === 'string' && code.endsWith('BAD_RECORD_MAC');
}
