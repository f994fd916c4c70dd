/**
 * The choices of `reveille init`, one question at a time. An option, the person at the terminal or the default answers each, and
 * the answer is checked before the next question.
 */
import { isIP } from 'node:net';
import { existsSync } from 'node:fs';
import { formatListenAddress, isLoopback, parseListenAddress } from '../../lib/connections/listen-address.ts';
import { parseApplicationId, parseDeviceId, parseProductId } from '../../model/ids.ts';
import { findListenProblem } from '../../server/config/start-checks.ts';
import { CommandError, usageError } from '../shell/command-error.ts';
import { isYes, type Dialogue } from '../shell/dialogue.ts';

/** Each as text; empty if not chosen. */
export interface InitChoices {
  /** An IP address, without brackets, or `localhost`. */
  readonly host: string;
  /** Port of the API, 0-65525; the other listeners use the ports after it; 0: any free port for each. */
  readonly port: string;
  /** Host name or address at which devices and backends reach this machine. */
  readonly advertise: string;
  readonly tlsCert: string;
  readonly tlsKey: string;
  /** Yes, as `isYes` parses it: the sleep listener uses the certificate as well. */
  readonly sleepTls: string;
  readonly app: string;
  readonly product: string;
  readonly device: string;
  /** File for the secrets, which are then not printed. */
  readonly secrets: string;
}

type ChoiceName = keyof InitChoices;

/** The problem with a choice, for people; null: none. */
type Check = (choices: InitChoices) => Promise<string | null> | string | null;

export interface ChoiceChecks {
  readonly listeners: Check;
  /** Checks that the files hold a certificate that is valid today, and its private key. */
  readonly tls: Check;
}

interface Question {
  readonly name: ChoiceName;
  readonly option: string;
  readonly text: string;
  /** The default value. Default: empty. */
  readonly usual?: (choices: InitChoices) => string;
  /** Decides whether the question is asked; the answer is empty if not. Default: always asked. */
  readonly isOpen?: (choices: InitChoices) => boolean;
  readonly check: Check;
}

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
      text: 'Certificate for TLS, a PEM file (default: no TLS)',
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
      text: 'Do the low-power modules use TLS as well (yes or no)',
      usual: () => 'no',
      isOpen: ({ tlsCert }) => tlsCert !== '',
      check: ({ sleepTls, tlsCert }) =>
        isYes(sleepTls) && tlsCert === '' ? 'modules that use TLS need a certificate' : null,
    },
    {
      name: 'app',
      option: '--app',
      text: 'Id of the first application, whose backend may send requests',
      usual: () => 'main',
      check: ({ app }) => (parseApplicationId(app) === null ? badId : null),
    },
    {
      name: 'product',
      option: '--product',
      text: 'Id of its first product, to which its devices belong',
      usual: () => 'doorbell',
      check: ({ product }) => (parseProductId(product) === null ? badId : null),
    },
    {
      name: 'device',
      option: '--device',
      text: 'Id of a device for a trial (default: none)',
      check: ({ device }) => (device === '' || parseDeviceId(device) !== null ? null : badId),
    },
    {
      name: 'secrets',
      option: '--secrets',
      text: 'File for the secrets, with mode 0600 (default: they are shown here, once)',
      check: ({ secrets }) => (secrets !== '' && existsSync(secrets) ? existsAlready(secrets) : null),
    },
  ];
}

/**
 * Collects the choices from the options, the dialogue and the defaults. Throws a CommandError if an option is wrong or, without a
 * dialogue, if a default is; rejects when `signal` is aborted or the input ends.
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
      const advice = `give another value with ${option}`;
      if (!isAsked) throw usageError(problem, advice);
      remark(problem);
    }
  }
  return choices;
}

function questionLine(text: string, offered: string): string {
  return offered === '' ? `${text}:` : `${text} [${offered}]:`;
}

export function cancelled(): CommandError {
  return new CommandError('cancelled: nothing was written', 'run it again when you have the answers');
}

const badId = 'an id is 1-255 bytes of UTF-8 without control characters';

export function existsAlready(path: string): string {
  return `${path} exists already and is not overwritten`;
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

/** The ops listener uses the port ten above the API's. */
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
