/** The program: all commands, and the options that every one of them takes. */
import { Command } from 'commander';
import { addAuditCommand } from './cli/admin/audit-command.ts';
import { addBridgeCommand } from './cli/admin/bridge-command.ts';
import { addCallCommand } from './cli/api/call-command.ts';
import { addCallsCommand } from './cli/admin/calls-command.ts';
import { addClusterCommand } from './cli/admin/cluster-command.ts';
import { addConfigCommand } from './cli/admin/config-command.ts';
import { addCredentialCommand } from './cli/admin/credential-command.ts';
import { addDemoCommand } from './tools/demo/demo-command.ts';
import { addDeviceCommand } from './cli/admin/device-command.ts';
import { addDoctorCommand } from './cli/doctor/doctor-command.ts';
import { addEventsCommand } from './cli/api/events-command.ts';
import { addOpsTokenCommand } from './cli/admin/ops-token-command.ts';
import { addRegistryCommand } from './cli/admin/registry-command.ts';
import { addServeCommand } from './cli/serve/serve-command.ts';
import { addSignCommand } from './cli/api/sign-command.ts';
import { addSimulateBridgeCommand } from './tools/bridge/simulate-bridge-command.ts';
import { addSimulateCommand } from './tools/simulator/simulate-command.ts';
import { addStatusCommand } from './cli/api/status-command.ts';
import { addTokenKeyCommand } from './cli/admin/token-key-command.ts';
import { readVersion } from './lib/package-version.ts';
import { addExamples, contextOf } from './cli/shell/command-context.ts';
import { addWakeCommand } from './cli/api/wake-command.ts';
import { addWebhookCommand } from './cli/admin/webhook-command.ts';

export function buildProgram(): Command {
  const program = new Command('reveille')
    .description(
      'A connection server that keeps sleeping devices reachable, and a signed REST API to wake them.',
    )
    .version(readVersion(), '-V, --version', 'print the version')
    .option('--config <file>', 'settings file (JSON)')
    .option('--data-dir <dir>', 'data directory: the store and the running server (--set data.dir=DIR)')
    .option('--set <section.key=value>', 'one setting, over file and environment; may be repeated', collect)
    .option('--json', 'answer as JSON, for machines')
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', overview);
  for (const addCommand of commands) addCommand(program);
  return program;
}

const commands = [
  addServeCommand,
  addDoctorCommand,
  addConfigCommand,
  addClusterCommand,
  addRegistryCommand,
  addDeviceCommand,
  addCredentialCommand,
  addBridgeCommand,
  addTokenKeyCommand,
  addOpsTokenCommand,
  addAuditCommand,
  addSignCommand,
  addCallCommand,
  addWakeCommand,
  addStatusCommand,
  addEventsCommand,
  addCallsCommand,
  addWebhookCommand,
  addSimulateCommand,
  addSimulateBridgeCommand,
  addDemoCommand,
  addVersionCommand,
] as const;

const overview = `
Examples:
  # from a checkout every command is called as
  $ npm run -s reveille -- doctor

  # run the server, let two devices sleep, wake one
  $ reveille serve
  $ reveille simulate --devices 2
  $ reveille wake DEMO-DOORBELL-1

Exit codes: 0 done, 1 failed, 2 asked for in a way that cannot be.`;

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function addVersionCommand(program: Command): void {
  const command = program
    .command('version')
    .description('Print the versions of Reveille and of what it runs on.')
    .action((_options: object, self: Command) => {
      const { output } = contextOf(self);
      const versions = { reveille: readVersion(), node: process.versions.node, platform: platform() };
      output.answer(versions, `reveille ${versions.reveille} (node ${versions.node}, ${versions.platform})`);
    });
  addExamples(command, ['version', 'for people'], ['version --json', 'for machines']);
}

function platform(): string {
  return `${process.platform}-${process.arch}`;
}
