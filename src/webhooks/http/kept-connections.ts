/**
 * Connections to receivers, kept open between attempts: few of them, and not for long. How many are in use is bounded
 * by the attempts under way. What is connected to is looked at once more before a byte is sent.
 */
import { Agent as HttpAgent, type ClientRequestArgs } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { addressAttemptMs, idleConnectionMs, idleConnectionsMax } from '../delivery/limits.ts';
import { refuseAddress } from './special-address.ts';

type Connected = (error: Error | null, stream: Duplex) => void;

const options = {
  keepAlive: true,
  timeout: idleConnectionMs,
  maxFreeSockets: idleConnectionsMax,
  // One address of a host after the other, each for longer than the quarter of a second that is the default.
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: addressAttemptMs,
} as const;

export class KeptHttpConnections extends HttpAgent {
  readonly #allowLocal: boolean;

  constructor(allowLocal: boolean) {
    super(options);
    this.#allowLocal = allowLocal;
  }

  override createConnection(args: ClientRequestArgs, connected?: Connected): Duplex | null | undefined {
    return checked(super.createConnection(args, connected), this.#allowLocal);
  }

  /** Node's types hide that it answers: what is not true closes the connection. */
  override keepSocketAlive(socket: Duplex): void {
    if (hasRoom(this)) return super.keepSocketAlive(socket);
  }
}

export class KeptHttpsConnections extends HttpsAgent {
  readonly #allowLocal: boolean;

  constructor(allowLocal: boolean) {
    super(options);
    this.#allowLocal = allowLocal;
  }

  override createConnection(args: ClientRequestArgs, connected?: Connected): Duplex | null | undefined {
    return checked(super.createConnection(args, connected), this.#allowLocal);
  }

  /** As above. */
  override keepSocketAlive(socket: Duplex): void {
    if (hasRoom(this)) return super.keepSocketAlive(socket);
  }
}

function hasRoom({ freeSockets }: HttpAgent): boolean {
  let idle = 0;
  for (const sockets of Object.values(freeSockets)) idle += sockets?.length ?? 0;
  return idle < idleConnectionsMax;
}

/** Before anybody else hears that it is connected, and so before anything is written. */
function checked(connection: Duplex | null | undefined, allowLocal: boolean): Duplex | null | undefined {
  if (!(connection instanceof Socket)) return connection;
  connection.prependOnceListener('connect', () => {
    const refusal = refuseAddress(connection.remoteAddress ?? '', allowLocal);
    if (refusal !== null) connection.destroy(new Error(refusal));
  });
  return connection;
}
