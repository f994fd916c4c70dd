/** Which connections to a port of this machine a process holds, by what the kernel says of sockets and descriptors. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** As the kernel writes it in /proc/net/tcp. */
const established = '01';

export class HeldConnections {
  /** The far ends, `ADDRESS:PORT` in the kernel's digits. */
  readonly #ends = new Set<string>();

  /** As it is now; over IPv4 only. */
  constructor(pid: number, port: number) {
    const inodes = new Set(socketsOf(pid));
    for (const line of readFileSync('/proc/net/tcp', 'latin1').split('\n').slice(1)) {
      const [, local, remote, state, , , , , , inode] = line.trim().split(/\s+/);
      if (local === undefined || remote === undefined || inode === undefined || state !== established)
        continue;
      if (local.endsWith(`:${hex(port, 4)}`) && inodes.has(inode)) this.#ends.add(remote);
    }
  }

  /** Whether the connection from there is held. */
  has(address: string, port: number): boolean {
    const bytes = address.split('.').map(Number).reverse();
    return this.#ends.has(`${bytes.map((byte) => hex(byte, 2)).join('')}:${hex(port, 4)}`);
  }
}

function socketsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
    const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${descriptor}`))?.[1];
    return inode === undefined ? [] : [inode];
  });
}

/** Closed meanwhile: nothing. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function hex(number: number, digits: number): string {
  return number.toString(16).toUpperCase().padStart(digits, '0');
}
