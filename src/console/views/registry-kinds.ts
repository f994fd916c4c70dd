/** All kinds of the registry view; defines applications and products. */
import type { Action, Field } from '../actions.ts';
import type { Client } from '../client.ts';
import { el } from '../dom.ts';
import { linkTo, productLink } from '../page.ts';
import { wordsIn } from '../values.ts';
import {
  appsField,
  change,
  list,
  listColumn,
  removal,
  text,
  textColumn,
  type Entry,
  type Kind,
} from './entry-kind.ts';
import { bridges, credentials, tokens } from './key-kinds.ts';

const applications: Kind = {
  title: 'Applications',
  meaning:
    'An application is a backend: it signs its requests with credentials, and owns the devices of its products.',
  kind: 'application',
  columns: [
    textColumn('Application', 'app_id'),
    textColumn('Name', 'name'),
    { name: 'Webhooks', cell: () => el('a', { href: linkTo('webhooks') }, 'its webhooks'), isWide: true },
  ],
  add: (client) => applicationChange(client, 'Add an application', 'to the registry'),
  actions: (entry, client) => [
    applicationChange(client, 'Rename', `the application ${text(entry, 'app_id')}`, entry),
    removal(client, 'application', 'app_id', text(entry, 'app_id')),
  ],
};

function applicationChange(client: Client, verb: string, object: string, entry: Entry | null = null): Action {
  const id: Field[] = entry === null ? [{ name: 'app_id', label: 'Id' }] : [];
  const fields: Field[] = [...id, { name: 'name', label: 'Name', value: text(entry ?? {}, 'name') }];
  const fixed = entry === null ? {} : { app_id: text(entry, 'app_id'), replace: true };
  const meaning = 'Only its name changes; credentials and products refer to its id.';
  const bodyOf = (values: object): object => ({ ...values, ...fixed });
  return change(
    client,
    '/v1/application/add',
    { verb, object, meaning, fields },
    bodyOf,
    'The application is saved.',
  );
}

const products: Kind = {
  title: 'Products',
  meaning: 'A product is a model of devices, with the applications that own its devices.',
  kind: 'product',
  columns: [
    { name: 'Product', cell: (entry) => productLink(text(entry, 'product_id')) },
    listColumn('Applications', 'app_ids'),
    {
      name: 'Defaults',
      cell: ({ defaults }) => (defaults === undefined ? 'none' : JSON.stringify(defaults)),
      isWide: true,
    },
  ],
  add: (client) => productChange(client, 'Add a product', 'to the registry'),
  actions: (entry, client) => [
    productChange(client, 'Change', `the product ${text(entry, 'product_id')}`, entry),
    removal(client, 'product', 'product_id', text(entry, 'product_id')),
  ],
};

function productChange(client: Client, verb: string, object: string, entry: Entry | null = null): Action {
  const id: Field[] = entry === null ? [{ name: 'product_id', label: 'Id' }] : [];
  const fields = [...id, { ...appsField, value: list(entry ?? {}, 'app_ids').join(', ') }];
  const fixed = entry === null ? {} : { product_id: text(entry, 'product_id'), replace: true };
  const meaning = 'The applications may wake its devices, send them messages and read their events.';
  const bodyOf = ({ app_ids: ids = '', ...rest }: Readonly<Record<string, string>>): object => {
    return { ...rest, app_ids: wordsIn(ids), ...fixed };
  };
  return change(
    client,
    '/v1/product/add',
    { verb, object, meaning, fields },
    bodyOf,
    'The product is saved.',
  );
}

export const kinds: Readonly<Record<string, Kind>> = { applications, products, credentials, bridges, tokens };
