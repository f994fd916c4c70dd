/** Credentials, bridges and operators' tokens, whose secrets are shown once. */
import type { OpsTokenListing } from '../../gateways/admin/secret-routes.ts';
import { optionalField, type Action, type Disclosure, type Values } from '../actions.ts';
import { badge } from '../page.ts';
import { secondsIn, wordsIn, wordsOrDefault } from '../values.ts';
import { appsField, change, listColumn, removal, text, textColumn, time, type Kind } from './entry-kind.ts';

const stateColumn: Kind['columns'][number] = {
  name: 'State',
  cell: (entry) => (entry['revoked'] === true ? badge('revoked', 'warn') : badge('valid', 'good')),
};

interface CredentialAnswer {
  readonly credential: { readonly access_key_id: string; readonly secret_key: string };
}

function disclosed(sentence: string, { credential }: CredentialAnswer): Disclosure {
  const { access_key_id: id, secret_key: key } = credential;
  return {
    sentence,
    secrets: [
      ['Access key id', id],
      ['Secret key', key],
    ],
  };
}

const newCredential = {
  verb: 'Create a credential',
  object: 'for an application',
  meaning: 'The server generates its secret key and shows it once.',
  fields: [
    { name: 'app_id', label: 'Application', hint: 'its id' },
    optionalField('permissions', 'Permissions', 'such as wakeup:write, events:read; default: all'),
    optionalField('not_after', 'Ends', 'a date such as 2030-01-31; default: never'),
  ],
};

function credentialIn({ app_id, permissions = '', not_after: end = '' }: Values): object {
  return { app_id, permissions: wordsOrDefault(permissions), not_after: secondsIn(end) };
}

export const credentials: Kind = {
  title: 'Credentials',
  meaning: 'An application signs its requests with a credential.',
  kind: 'credential',
  columns: [
    textColumn('Access key id', 'access_key_id'),
    textColumn('Application', 'app_id'),
    stateColumn,
    listColumn('Permissions', 'permissions'),
    { name: 'Ends', cell: (entry) => time(entry, 'not_after', 'never'), isWide: true },
  ],
  add: (client) =>
    change(client, '/v1/credential/create', newCredential, credentialIn, (created: CredentialAnswer) =>
      disclosed('The credential is created.', created),
    ),
  actions: (entry, client) => {
    const id = text(entry, 'access_key_id');
    const object = `the credential ${id}`;
    const named = (): object => ({ access_key_id: id });
    const rotate: Omit<Action, 'run'> = {
      verb: 'Rotate',
      object,
      meaning:
        'A second credential with the same permissions is created; this one expires after the given time.',
      fields: [{ name: 'grace_s', label: 'This one expires after, seconds', kind: 'number', value: '86400' }],
    };
    const graceIn = (values: Values): object => ({ ...named(), grace_s: Number(values['grace_s']) });
    const rotating = change(client, '/v1/credential/rotate', rotate, graceIn, (made: CredentialAnswer) =>
      disclosed('The new credential is created.', made),
    );
    const revoke = {
      verb: 'Revoke',
      object,
      meaning: 'Its requests are refused from now on.',
      isDanger: true,
    };
    const sentence = `The credential ${id} is revoked.`;
    const revoking = [rotating, change(client, '/v1/credential/revoke', revoke, named, sentence)];
    const removing = removal(client, 'credential', 'access_key_id', id);
    return entry['revoked'] === true ? [removing] : [...revoking, removing];
  },
};

export const bridges: Kind = {
  title: 'Bridges',
  meaning: 'A bridge represents the phone in a call; it connects with its key.',
  kind: 'bridge',
  columns: [textColumn('Bridge', 'bridge_id'), stateColumn, listColumn('Applications', 'app_ids')],
  add: (client) => ({
    verb: 'Add a bridge',
    object: 'to the registry',
    meaning: 'The server generates its key and shows it once. Adding an existing bridge gives it a new key.',
    fields: [{ name: 'bridge_id', label: 'Id' }, appsField],
    run: async ({ bridge_id: id, app_ids: ids = '' }) => {
      const body = { bridge_id: id, app_ids: wordsIn(ids) };
      const { key } = await client.change<{ readonly key: string }>('/v1/bridge/add', body);
      return { sentence: `The bridge ${id} is added.`, secrets: [['Key', key]] };
    },
  }),
  actions: (entry, client) => {
    const id = text(entry, 'bridge_id');
    const revoked = entry['revoked'] !== true;
    const meaning = revoked ? 'Its key is refused from now on.' : 'Its key is accepted again.';
    const terms = {
      verb: revoked ? 'Revoke' : 'Accept',
      object: `the bridge ${id}`,
      meaning,
      isDanger: revoked,
    };
    const sentence = `The bridge ${id} is ${revoked ? 'revoked' : 'accepted'}.`;
    return [
      change(client, '/v1/bridge/revoke', terms, () => ({ bridge_id: id, revoked }), sentence),
      removal(client, 'bridge', 'bridge_id', id),
    ];
  },
};

type OpsToken = OpsTokenListing['tokens'][number];

export const tokens: Kind = {
  title: 'Operator tokens',
  meaning:
    'A token gives one person or program access to the console and the ops API; the audit log names it.',
  kind: null,
  columns: [
    textColumn('Name', 'name' satisfies keyof OpsToken),
    textColumn('Role', 'role' satisfies keyof OpsToken),
    { name: 'Last used', cell: (entry) => time(entry, 'last_used_at' satisfies keyof OpsToken, 'never') },
    { name: 'Created', cell: (entry) => time(entry, 'created_at', 'not recorded'), isWide: true },
  ],
  add: (client) => ({
    verb: 'Create a token',
    object: 'for an operator',
    meaning: 'The server generates the token and shows it once.',
    fields: [
      { name: 'name', label: 'Name' },
      {
        name: 'role',
        label: 'Role',
        kind: ['viewer', 'operator'],
        hint: 'a viewer sees everything and changes nothing',
      },
    ],
    run: async (values) => {
      const { name, token } = await client.change<{ readonly name: string; readonly token: string }>(
        '/v1/ops-tokens/create',
        values,
      );
      return { sentence: `The token ${name} is created.`, secrets: [['Token', token]] };
    },
  }),
  actions: (entry, client) => {
    const name = text(entry, 'name');
    const meaning = 'The token is refused from now on, and its console sessions end.';
    const terms = { verb: 'Revoke', object: `the token ${name}`, meaning, isDanger: true };
    return [
      change(client, '/v1/ops-tokens/revoke', terms, () => ({ name }), `The token ${name} is revoked.`),
    ];
  },
};
