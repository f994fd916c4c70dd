/** The processes of one server: who they are, what they have spent and what memory is theirs, as the kernel keeps it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterJson, MemberJson } from '../../src/server/membership/cluster-json.ts';
import { collectSignal, type Child } from './child.ts';
import { cpuSecondsOf } from './process-time.ts';
import type { ReveilleServer } from './servers.ts';

export interface Relative {
  /** `server` alone; else `supervisor`, `coordinator`, `worker 1` … and `spare`. */
  readonly name: string;
  readonly pid: number;
}

export interface Memory {
  /** Its own and its share of what it has in common with others. */
  readonly pssBytes: number;
  readonly rssAnonBytes: number;
}

const goneMsMax = 10_000;
const kibibyte = 1024;

/** The process of a server that was started. */
export function relativeOf(name: string, { child }: Pick<ReveilleServer, 'child'>): Relative {
  return { name, pid: child.process.pid ?? 0 };
}

/** Of a server that is up. */
export async function familyOf(server: ReveilleServer): Promise<Relative[]> {
  const { pid } = relativeOf('server', server);
  const children = childrenOf(pid);
  if (children.length === 0) return [{ name: 'server', pid }];
  const members = await membersOf(server);
  const numbered = members.flatMap(({ pid: own, role, process: number }) =>
    typeof own === 'number'
      ? [{ name: role === 'coordinator' ? 'coordinator' : `worker ${number}`, pid: own }]
      : [],
  );
  const spares = children.filter((child) => !numbered.some((relative) => relative.pid === child));
  return [
    { name: 'supervisor', pid },
    ...numbered,
    ...spares.map((spare) => ({ name: 'spare', pid: spare })),
  ];
}

/** As operators see them. */
export async function membersOf({ opsPort, dataDirectory }: ReveilleServer): Promise<readonly MemberJson[]> {
  const token = readFileSync(join(dataDirectory, 'ops.token'), 'utf8').trim();
  const response = await fetch(`http://127.0.0.1:${opsPort}/v1/cluster`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  if (!response.ok) throw new Error(`the server does not say who its members are: ${response.status}`);
  const body = (await response.json()) as ClusterJson;
  return body.members;
}

/** CPU seconds of each since the tally was begun. */
export class CpuTally {
  readonly #since: ReadonlyMap<Relative, number>;

  constructor(relatives: readonly Relative[]) {
    this.#since = new Map(relatives.map((relative) => [relative, cpuSecondsOf(relative.pid)]));
  }

  /** `of`: the beginning of their names; everybody when left out. */
  read(of = ''): number {
    const counted = Array.from(this.#since).filter(([{ name }]) => name.startsWith(of));
    return counted.reduce((sum, [{ pid }, since]) => sum + cpuSecondsOf(pid) - since, 0);
  }
}

export function memoryOf(pid: number): Memory {
  const pss = readKibibytes(`/proc/${pid}/smaps_rollup`, 'Pss');
  return {
    pssBytes: pss * kibibyte,
    rssAnonBytes: readKibibytes(`/proc/${pid}/status`, 'RssAnon') * kibibyte,
  };
}

const collectedMs = 1000;

/** PSS of all together, behind a rest and two collections that each was made to have. */
export async function pssAtRest(relatives: readonly Relative[], restSeconds: number): Promise<number> {
  await sleep(restSeconds * 1000);
  for (let collections = 0; collections < 2; collections += 1) {
    for (const { pid } of relatives) process.kill(pid, collectSignal);
    await sleep(collectedMs);
  }
  return relatives.reduce((sum, { pid }) => sum + memoryOf(pid).pssBytes, 0);
}

/** Resolves when a server and those that it started are gone, whatever they do: they may not write while their place is removed. */
export async function stopFamily(child: Child): Promise<void> {
  const { pid } = child.process;
  const children = pid === undefined || child.process.exitCode !== null ? [] : childrenOf(pid);
  await child.stop();
  for (const one of children) end(one);
  const deadlineMs = performance.now() + goneMsMax;
  while (children.some((one) => existsSync(`/proc/${one}`)) && performance.now() < deadlineMs)
    await sleep(20);
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Those that it supervises; the compiler that a server run from its sources has is none of them. */
function childrenOf(pid: number): number[] {
  if (!existsSync(`/proc/${pid}`)) return [];
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').map(Number);
  return children.filter((child) => child > 0 && commandOf(child).includes('--supervised'));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

function readKibibytes(path: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(path, 'latin1'))?.[1] ?? 0);
}
