/**
 * Checks answers against docs/openapi.yaml: status, headers and body have to match the document for the method and path
 * exactly. Records the documented answers that it has seen, so that a test can require all of them.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv2020, type AnySchemaObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { checkout } from './checkout.ts';

export interface ObservedAnswer {
  readonly status: number;
  /** Values by lower-case name, as Node's client returns them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON. Ignored for HEAD. */
  readonly body: unknown;
}

interface Reference {
  readonly $ref: string;
}

interface HeaderObject {
  readonly required?: boolean;
  readonly schema: AnySchemaObject;
}

interface ResponseObject {
  readonly description?: string;
  readonly headers?: Readonly<Record<string, HeaderObject | Reference>>;
  readonly content?: Readonly<Record<string, MediaTypeObject>>;
}

interface MediaTypeObject {
  readonly schema: AnySchemaObject;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

type Responses = Readonly<Record<string, ResponseObject | Reference>>;

interface ParameterObject {
  readonly name: string;
  readonly in: string;
  readonly schema: AnySchemaObject;
  readonly example?: unknown;
}

interface OperationObject {
  readonly description?: string;
  readonly parameters?: readonly (ParameterObject | Reference)[];
  readonly requestBody?: {
    readonly description?: string;
    readonly content: Readonly<Record<string, MediaTypeObject>>;
  };
  readonly responses: Responses;
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

type PathItemObject = { readonly [method in (typeof methods)[number]]?: OperationObject } & {
  readonly 'x-other-methods'?: Responses;
};

export interface OpenapiDocument {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, PathItemObject>>;
  readonly components: Readonly<Record<string, unknown>>;
  readonly 'x-other-paths'?: Responses;
}

interface DocumentedResponse {
  /** For example `POST /v1/device/wakeup-request`; `* PATH` for unlisted methods, `*` for unlisted paths. */
  readonly operation: string;
  readonly status: number;
  /** Business codes that its body may carry, in document order. */
  readonly codes: readonly number[];
  readonly contentType: string;
  readonly body: ValidateFunction;
  /** All headers except those of the connection, as one object. */
  readonly headers: ValidateFunction;
  readonly examples: readonly unknown[];
}

/** Headers of the connection or the front end, which carry no meaning of an endpoint. Content-Type is checked against `content`. */
const headersNotDocumented = new Set([
  'connection',
  'content-length',
  'content-type',
  'keep-alive',
  'transfer-encoding',
]);

export class OpenapiContract {
  readonly document: OpenapiDocument;
  readonly #ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, strict: true });
  readonly #responses: readonly DocumentedResponse[];
  readonly #seen = new Set<string>();

  constructor(document: OpenapiDocument) {
    this.document = document;
    this.#ajv.addKeyword('components');
    this.#responses = this.#readResponses();
    assert.ok(this.#responses.length > 0, 'the document has responses');
  }

  static read(file: URL): OpenapiContract {
    return new OpenapiContract(parse(readFileSync(file, 'utf8')) as OpenapiDocument);
  }

  get responses(): readonly DocumentedResponse[] {
    return this.#responses;
  }

  /** `path` may have a query and one trailing slash. Throws with all deviations from the document. */
  assertMatches(method: string, path: string, answer: ObservedAnswer): void {
    const operation = this.#operationOf(method, path);
    const response = this.#responses.find(
      (documented) => documented.operation === operation && documented.status === answer.status,
    );
    const place = `${operation} ${answer.status}`;
    assert.ok(response !== undefined, `${place} is not documented: ${JSON.stringify(answer.body)}`);
    const isBodyless = method === 'HEAD';
    const wrong = [
      ...headerMismatches(response, answer.headers),
      ...(isBodyless ? [] : mismatches(response.body, answer.body, 'body')),
    ];
    assert.deepEqual(wrong, [], `${place} is not as documented: ${JSON.stringify(answer.body)}`);
    this.#seen.add(isBodyless ? place : keyOf(response, codeIn(answer.body)));
  }

  /** Documented answers that have not been seen, as `OPERATION STATUS CODE`, in document order. */
  unseen(): string[] {
    return this.#responses.flatMap(keysOf).filter((key) => !this.#seen.has(key));
  }

  compile(schema: AnySchemaObject): ValidateFunction {
    return this.#ajv.compile({ ...schema, components: this.document.components });
  }

  /** Resolves a `$ref`; anything else is returned as it is. */
  resolve<Target extends object>(node: Target | Reference): Target {
    if (!('$ref' in node)) return node;
    const [root, ...steps] = node.$ref.split('/');
    assert.equal(root, '#', `${node.$ref} points into the document`);
    const found = steps.reduce<unknown>((inner, step) => memberOf(inner, step), this.document);
    assert.ok(typeof found === 'object' && found !== null, `${node.$ref} points at something`);
    return found as Target;
  }

  #operationOf(method: string, path: string): string {
    const [bare = ''] = path.split('?');
    const known = [bare, bare.replace(/\/$/, '')].find((candidate) => this.#pathItem(candidate) !== null);
    if (known === undefined) return '*';
    const item = this.#pathItem(known);
    return methods.some((name) => name.toUpperCase() === method && item?.[name] !== undefined)
      ? `${method} ${known}`
      : `* ${known}`;
  }

  #pathItem(path: string): PathItemObject | null {
    return Object.hasOwn(this.document.paths, path) ? (this.document.paths[path] ?? null) : null;
  }

  #readResponses(): DocumentedResponse[] {
    const ofPaths = Object.entries(this.document.paths).flatMap(([path, item]) => [
      ...methods.flatMap((method) =>
        this.#responsesOf(`${method.toUpperCase()} ${path}`, item[method]?.responses),
      ),
      ...this.#responsesOf(`* ${path}`, item['x-other-methods']),
    ]);
    return [...ofPaths, ...this.#responsesOf('*', this.document['x-other-paths'])];
  }

  #responsesOf(operation: string, responses: Responses = {}): DocumentedResponse[] {
    return Object.entries(responses).map(([status, node]) => {
      const response = this.resolve(node);
      const place = `${operation} ${status}`;
      const [media, ...otherMedia] = Object.entries(response.content ?? {});
      assert.ok(media !== undefined && otherMedia.length === 0, `${place} has one media type`);
      const [contentType, { schema }] = media;
      return {
        operation,
        status: Number(status),
        codes: this.#codesOf(schema),
        contentType,
        body: this.compile(schema),
        headers: this.#compileHeaders(response),
        examples: examplesOf(media[1]),
      };
    });
  }

  #compileHeaders(response: ResponseObject): ValidateFunction {
    const headers = Object.entries(response.headers ?? {}).map(
      ([name, node]) => [name.toLowerCase(), this.resolve(node)] as const,
    );
    return this.compile({
      type: 'object',
      required: headers.filter(([, { required }]) => required === true).map(([name]) => name),
      properties: Object.fromEntries(headers.map(([name, { schema }]) => [name, schema])),
      additionalProperties: false,
    });
  }

  /** Values that the schema allows for `code`, through references and alternatives. */
  #codesOf(schema: AnySchemaObject): number[] {
    const code = memberOf(schema['properties'], 'code');
    const own = [memberOf(code, 'const'), ...listOf(code, 'enum')];
    const inner = ['oneOf', 'anyOf', 'allOf'].flatMap((keyword) => listOf(schema, keyword));
    if (typeof schema['$ref'] === 'string') inner.push(this.resolve({ $ref: schema['$ref'] }));
    const all = [...own, ...inner.filter(isObject).flatMap((alternative) => this.#codesOf(alternative))];
    return [...new Set(all.filter((value) => typeof value === 'number'))];
  }
}

function headerMismatches(response: DocumentedResponse, headers: ObservedAnswer['headers']): string[] {
  const shown = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && !headersNotDocumented.has(name),
  );
  const contentType = headers['content-type'];
  return [
    ...(contentType === response.contentType ? [] : [`content-type is ${String(contentType)}`]),
    ...mismatches(response.headers, Object.fromEntries(shown), 'headers'),
  ];
}

function mismatches(validate: ValidateFunction, value: unknown, name: string): string[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${name}${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

export function examplesOf({
  example,
  examples = {},
}: Pick<MediaTypeObject, 'example' | 'examples'>): unknown[] {
  const named = Object.values(examples).map(({ value }) => value);
  return example === undefined ? named : [example, ...named];
}

function keysOf(response: DocumentedResponse): string[] {
  return response.codes.length === 0
    ? [keyOf(response, null)]
    : response.codes.map((code) => keyOf(response, code));
}

function keyOf({ operation, status }: DocumentedResponse, code: number | null): string {
  return code === null ? `${operation} ${status}` : `${operation} ${status} ${code}`;
}

function codeIn(body: unknown): number | null {
  return isObject(body) && typeof body['code'] === 'number' ? body['code'] : null;
}

function memberOf(node: unknown, name: string): unknown {
  return isObject(node) && Object.hasOwn(node, name) ? node[name] : undefined;
}

function listOf(node: unknown, name: string): unknown[] {
  const list = memberOf(node, name);
  return Array.isArray(list) ? [...(list as unknown[])] : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

export const apiContract = OpenapiContract.read(new URL('docs/openapi.yaml', checkout));

export function assertMatchesOpenapi(method: string, path: string, answer: ObservedAnswer): void {
  apiContract.assertMatches(method, path, answer);
}

export function unseenResponses(): string[] {
  return apiContract.unseen();
}
