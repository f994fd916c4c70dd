/**
 * `reveille init`: writes a settings file, creates a store with a first application, product and credential, and prints the next
 * commands. It asks at a terminal, or takes options with `--yes`; existing files are never overwritten.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { showable } from '../../lib/showable-text.ts';
import { loadSettings } from '../../server/config/settings.ts';
import {
  newCommand,
  type CommandContext,
  inLocalContext,
  untilInterrupted,
} from '../shell/command-context.ts';
import { reveilleCommand, usageError } from '../shell/command-error.ts';
import { isYes, type Dialogue } from '../shell/dialogue.ts';
import { alignColumns } from '../shell/output.ts';
import { firstCommands, secretLines, type FirstSecrets } from './first-entries.ts';
import { cancelled, chooseAll, type InitChoices } from './init-choices.ts';
import { firstEntriesOf, makeFiles, refuseExisting, type InitPlaces } from './init-files.ts';
import {
  checksWith,
  fileTextOf,
  listenersOf,
  refuseVariables,
  settingsOf,
  warningsOf,
  type InitSources,
} from './init-settings.ts';

const usualFile = 'reveille.json';

export function addInitCommand(program: Command): void {
  newCommand(
    program,
    'init',
    `Write a settings file (--config, by default ${usualFile}), create a store (--data-dir) with a first application, ` +
      'product and access key, and print the next commands. Asks at a terminal; with --yes it uses options and ' +
      'defaults. Overwrites nothing.',
    '--yes --device DOOR-1',
    [
      '--yes --config /etc/reveille.json --data-dir /var/lib/reveille --host 0.0.0.0 --advertise reveille.example ' +
        '--tls-cert cert.pem --tls-key key.pem --secrets key.json',
      'for devices elsewhere; key.json is for --credential',
    ],
  )
    .option('--host <address>', 'address to listen on; 0.0.0.0: all (default: 127.0.0.1)')
    .option(
      '--port <port>',
      'port of the API; sleep, signal and media use the next three, ops the tenth; 0: free ones (default: 8080)',
    )
    .option('--advertise <host>', 'name or address by which devices reach this machine (default: --host)')
    .option('--tls-cert <file>', 'certificate of API, signal and media, in PEM (default: no TLS)')
    .option('--tls-key <file>', 'its private key, in PEM, without a passphrase')
    .option('--sleep-tls', 'the low-power modules use TLS as well')
    .option('--app <id>', 'the first application (default: main)')
    .option('--product <id>', 'its first product (default: doorbell)')
    .option('--device <id>', 'a first device (default: none)')
    .option('--secrets <file>', 'a new file for the secrets (default: they are shown once)')
    .option('--yes', 'ask nothing')
    .action(inLocalContext(init));
}

interface InitOptions extends Partial<Omit<InitChoices, 'sleepTls'>> {
  readonly sleepTls?: boolean;
  readonly yes?: boolean;
}

function init(context: CommandContext, { yes = false, sleepTls, ...rest }: InitOptions): Promise<void> {
  const { openDialogue } = context;
  if (!yes && openDialogue === null)
    throw usageError(
      'there is no terminal to ask at',
      'run it at a terminal, or add --yes; --help lists the defaults',
    );
  const given = { ...rest, ...(sleepTls === true && { sleepTls: 'yes' }) };
  return untilInterrupted(async (signal) => {
    const dialogue = yes ? null : (openDialogue?.() ?? null);
    try {
      await new Beginning(context, dialogue, signal).run(given);
    } catch (error) {
      if (signal.aborted && error === signal.reason) throw cancelled();
      throw error;
    } finally {
      dialogue?.close();
    }
  });
}

class Beginning {
  readonly #context: CommandContext;
  readonly #dialogue: Dialogue | null;
  readonly #signal: AbortSignal;
  readonly #sources: InitSources;
  readonly #places: InitPlaces;

  /** Throws a SettingsError if the options for settings are wrong. */
  constructor(context: CommandContext, dialogue: Dialogue | null, signal: AbortSignal) {
    const { env, overrides = [], file = usualFile } = context.settingsSources;
    this.#context = context;
    this.#dialogue = dialogue;
    this.#signal = signal;
    this.#sources = { env, overrides };
    this.#places = { file, dataDirectory: resolve(loadSettings(this.#sources).data.dir) };
  }

  async run(given: Partial<InitChoices>): Promise<void> {
    const { clock, output } = this.#context;
    const nowMs = clock.wallMs();
    refuseExisting(this.#places);
    const remark = (text: string): void => output.remark(text);
    const checks = checksWith(this.#sources, nowMs);
    const choices = await chooseAll(given, checks, this.#dialogue, { signal: this.#signal, remark });
    refuseVariables(choices, this.#sources);
    for (const warning of warningsOf(choices, this.#sources, nowMs)) output.warning(warning);
    await this.#confirm();
    const text = fileTextOf(choices, this.#sources);
    const secrets = await makeFiles(this.#places, choices, text, clock);
    this.#answer(choices, secrets);
  }

  /** Throws a CommandError if the answer is no. */
  async #confirm(): Promise<void> {
    if (this.#dialogue === null) return;
    const { file, dataDirectory } = this.#places;
    const question = `Write ${file}, and create a store in ${dataDirectory} [yes]:`;
    const line = await this.#dialogue.ask(question, this.#signal);
    if (line === null || (line !== '' && !isYes(line))) throw cancelled();
  }

  #answer(choices: InitChoices, secrets: FirstSecrets): void {
    const { file, dataDirectory } = this.#places;
    const place = [['--config', file]] as const;
    const next = [reveilleCommand('serve', place), ...firstCommands(firstEntriesOf(choices), place)];
    const { secrets: secretsFile } = choices;
    const settings = settingsOf(choices, this.#sources);
    const shown = secretsFile === '' ? secretLines(secrets) : `the secrets are in ${secretsFile}`;
    const json = {
      config: file,
      data_dir: dataDirectory,
      ...(secretsFile === '' ? { secrets } : { secrets_file: secretsFile }),
      next,
    };
    const made = `wrote ${file}, and created ${dataDirectory} with application ${showable(choices.app)} and product ${showable(choices.product)}`;
    const lines = [
      made,
      alignColumns(listenersOf(settings)),
      '',
      shown,
      '',
      'Next, each in a terminal of its own:',
    ];
    this.#context.output.answer(json, [...lines, ...next.map((line) => `  ${line}`)].join('\n'));
  }
}
