/**
 * The choices of `reveille init`, question by question: each is answered by an option, by the person at the terminal, or by
 * what is usual, and checked before the next one is asked.
 */
import { isIP } from 'node:net';
import { existsSync } from 'node:fs';
import { formatListenAddress, isLoopback, parseListenAddress } from '../../lib/connections/listen-address.ts';
import { parseApplicationId, parseDeviceId, parseProductId } from '../../model/ids.ts';
import { findListenProblem } from '../../server/config/start-checks.ts';
import { CommandError, usageError } from '../shell/command-error.ts';
import { isYes, type Dialogue } from '../shell/dialogue.ts';

/** Each as text; empty where there is none. */
export interface InitChoices {
  /** An IP address, without brackets, or `localhost`. */
  readonly host: string;
  /** Of the API, 0-65525: those of the other listeners follow; 0: a free one each. */
  readonly port: string;
  /** By what devices and backends reach the host: a name or an address. */
  readonly advertise: string;
  /** Paths of PEM files. */
  readonly tlsCert: string;
  readonly tlsKey: string;
  /** Yes, as `isYes` has it: the sleep listener has the certificate, too. */
  readonly sleepTls: string;
  readonly app: string;
  readonly product: string;
  readonly device: string;
  /** Path of the file that the secrets go into, in place of the terminal. */
  readonly secrets: string;
}

type ChoiceName = keyof InitChoices;

/** The problem with a choice, for people; null: none. */
type Check = (choices: InitChoices) => Promise<string | null> | string | null;

export interface ChoiceChecks {
  /** Whether the listeners can be had. */
  readonly listeners: Check;
  /** Whether the files are a certificate that is valid today, and its key. */
  readonly tls: Check;
}

interface Question {
  readonly name: ChoiceName;
  readonly option: string;
  readonly text: string;
  /** The default; absent: empty. */
  readonly usual?: (choices: InitChoices) => string;
  /** It is asked only then, and else empty; absent: always. */
  readonly isOpen?: (choices: InitChoices) => boolean;
  readonly check: Check;
}

/** In the order in which they are asked. */
function questions({ listeners, tls }: ChoiceChecks): readonly Question[] {
  return [
    {
      name: 'host',
      option: '--host',
      text: 'Address to listen on (127.0.0.1: only this machine reaches it; 0.0.0.0: all addresses)',
      usual: () => '127.0.0.1',
      check: checkHost,
    },
    {
      name: 'port',
      option: '--port',
      text: 'Port of the API (sleep, signal and media have the next three, ops the tenth after it)',
      usual: () => '8080',
      check: async (choices) => checkPort(choices) ?? listeners(choices),
    },
    {
      name: 'advertise',
      option: '--advertise',
      text: 'Name or address by which devices reach this machine',
      usual: ({ host }) => (isAnyAddress(host) ? '' : host),
      isOpen: ({ host }) => !isLocal(host),
      check: checkAdvertised,
    },
    {
      name: 'tlsCert',
      option: '--tls-cert',
      text: 'Certificate for TLS, a PEM file (empty: no TLS)',
      check: ({ tlsCert }) =>
        tlsCert === '' || existsSync(tlsCert) ? null : `${tlsCert}: there is no such file`,
    },
    {
      name: 'tlsKey',
      option: '--tls-key',
      text: 'Its private key, a PEM file',
      isOpen: ({ tlsCert }) => tlsCert !== '',
      check: (choices) =>
        choices.tlsKey === '' ? 'a certificate needs its private key: a PEM file' : tls(choices),
    },
    {
      name: 'sleepTls',
      option: '--sleep-tls',
      text: 'Do the low-power modules speak TLS, too (yes or no)',
      usual: () => 'no',
      isOpen: ({ tlsCert }) => tlsCert !== '',
      check: ({ sleepTls, tlsCert }) =>
        isYes(sleepTls) && tlsCert === '' ? 'modules that speak TLS need a certificate' : null,
    },
    {
      name: 'app',
      option: '--app',
      text: 'Id of the first application, whose backend may call',
      usual: () => 'main',
      check: ({ app }) => (parseApplicationId(app) === null ? badId : null),
    },
    {
      name: 'product',
      option: '--product',
      text: 'Id of its first product, which its devices belong to',
      usual: () => 'doorbell',
      check: ({ product }) => (parseProductId(product) === null ? badId : null),
    },
    {
      name: 'device',
      option: '--device',
      text: 'Id of a device to try it with (empty: none)',
      check: ({ device }) => (device === '' || parseDeviceId(device) !== null ? null : badId),
    },
    {
      name: 'secrets',
      option: '--secrets',
      text: 'File for the secrets, for your eyes only (empty: they are shown here, once)',
      check: ({ secrets }) => (secrets !== '' && existsSync(secrets) ? taken(secrets) : null),
    },
  ];
}

/**
 * Those of the options, of the dialogue and the usual ones. Throws a CommandError where an option is wrong, and without a
 * dialogue where the usual is; rejects when `signal` is aborted or the input ends.
 */
export async function chooseAll(
  given: Partial<InitChoices>,
  checks: ChoiceChecks,
  dialogue: Dialogue | null,
  { signal, remark }: { readonly signal: AbortSignal; readonly remark: (text: string) => void },
): Promise<InitChoices> {
  const all = questions(checks);
  let choices: InitChoices = Object.fromEntries(all.map(({ name }) => [name, ''])) as Record<
    ChoiceName,
    string
  >;
  for (const { name, option, text, usual = () => '', isOpen = () => true, check } of all) {
    const fixed = given[name];
    for (;;) {
      const isAsked = fixed === undefined && dialogue !== null && isOpen(choices);
      const offered = isOpen(choices) ? usual(choices) : '';
      const line = isAsked ? await dialogue.ask(questionLine(text, offered), signal) : '';
      if (line === null) throw cancelled();
      const value = fixed ?? (line === '' ? offered : line);
      choices = { ...choices, [name]: value };
      const problem = isOpen(choices) || value !== '' ? await check(choices) : null;
      if (problem === null) break;
      const advice = `give another with ${option}`;
      if (!isAsked) throw usageError(problem, advice);
      remark(problem);
    }
  }
  return choices;
}

function questionLine(text: string, offered: string): string {
  return offered === '' ? `${text}:` : `${text} [${offered}]:`;
}

/** For an end of the input, or Ctrl-C. */
export function cancelled(): CommandError {
  return new CommandError('not begun: nothing was written', 'call it again when you have the answers');
}

const badId = 'an id is 1-255 bytes of UTF-8 without control characters';

export function taken(path: string): string {
  return `${path} is there already, and nothing is written over`;
}

function isAnyAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function isLocal(host: string): boolean {
  return isLoopback({ host, port: 0 });
}

async function checkHost({ host }: InitChoices): Promise<string | null> {
  if (isIP(host) === 0 && host !== 'localhost')
    return `${host}: expected an IP address of this machine, without a port`;
  return findListenProblem({ host, port: 0 });
}

/** The ops listener has the tenth port behind that of the API. */
const portMax = 65_525;

function checkPort({ port }: InitChoices): string | null {
  return /^\d{1,5}$/.test(port) && Number(port) <= portMax
    ? null
    : `${port}: expected a port from 0 to ${portMax}`;
}

function checkAdvertised({ advertise, host }: InitChoices): string | null {
  if (isLocal(host) && advertise === '') return null;
  const address = parseListenAddress(formatListenAddress({ host: advertise, port: 1 }));
  if (address !== null && !isAnyAddress(advertise)) return null;
  return 'expected a name or an address by which devices reach this machine, without a port';
}
