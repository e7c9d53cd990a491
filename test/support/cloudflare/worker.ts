/** A Worker of the stand-in: its versions, deployments and secrets. */

import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { ApiFault, type ApiResponse, result } from './api-response.ts';

const binding = z.looseObject({ name: z.string(), type: z.string() });
const metadata = z.looseObject({
  bindings: z.array(binding).default([]),
  annotations: z.record(z.string(), z.string()).default({}),
  migrations: z.looseObject({ new_tag: z.string().optional() }).optional(),
});

type Metadata = z.infer<typeof metadata>;

/** Returns the part `metadata` of an upload, and all parts as text. */
export function metadataOf(
  body: Buffer,
  contentType: string,
): { metadata: Metadata; files: ReadonlyMap<string, string> } {
  const boundary = /boundary="?([^";]+)/.exec(contentType)?.[1] ?? '';
  const files = new Map<string, string>();
  for (const part of body.toString('utf8').split(`--${boundary}`)) {
    const name = /name="([^"]+)"/.exec(part)?.[1];
    if (name !== undefined) files.set(name, part.slice(part.indexOf('\r\n\r\n') + 4).trimEnd());
  }
  return {
    metadata: metadata.parse(JSON.parse(files.get('metadata') ?? '{}')),
    files,
  };
}

export type Version = {
  id: string;
  number: number;
  annotations: Record<string, string>;
  bindings: z.infer<typeof binding>[];
  /** The parts of the upload, by their names. */
  files: ReadonlyMap<string, string>;
  /** As they were when the version was made. */
  secrets: Record<string, string>;
};

const MADE = { created_on: '2026-11-01T00:00:00Z', source: 'wrangler', strategy: 'percentage' };

export class Worker {
  readonly name: string;
  readonly versions: Version[] = [];
  readonly deployments: { id: string; versions: { version_id: string; percentage: number }[] }[] =
    [];
  #secrets: Record<string, string> = {};
  #migrationTag: string | undefined;
  deployedAt = 0;

  constructor(name: string) {
    this.name = name;
  }

  get service() {
    const script = { id: this.name, tag: 't', tags: [], migration_tag: this.#migrationTag };
    const default_environment = { environment: 'production', script };
    return { id: this.name, default_environment, environments: [default_environment] };
  }

  get settings(): object {
    return { bindings: this.versions.at(-1)?.bindings ?? [], tags: [], annotations: {} };
  }

  get secretNames(): object[] {
    return Object.keys(this.#secrets).map((name) => ({ name, type: 'secret_text' }));
  }

  /** The version that is served. */
  get current() {
    const served = this.deployments.at(0)?.versions.at(0)?.version_id;
    const version = this.version(served);
    const bound = version.bindings.find(({ type }) => type === 'd1');
    return {
      ...version,
      tag: version.annotations['workers/tag'] ?? '',
      databaseId: String(bound?.id ?? bound?.database_id),
      namespaceId: String(
        version.bindings.find(({ type }) => type === 'kv_namespace')?.namespace_id,
      ),
    };
  }

  version(id: string | undefined): Version & { resources: object; metadata: object } {
    const found = this.versions.find((each) => each.id === id);
    if (found === undefined) throw new ApiFault(404, 10007, 'The version is not found');
    return {
      ...found,
      resources: {
        bindings: found.bindings,
        script: { etag: 'e', handlers: ['fetch'] },
        script_runtime: {},
      },
      metadata: MADE,
    };
  }

  upload({ metadata, files }: ReturnType<typeof metadataOf>): ApiResponse {
    const { bindings, annotations, migrations } = metadata;
    this.#migrationTag = migrations?.new_tag ?? this.#migrationTag;
    const version = this.#addVersion({ bindings, annotations, files });
    return result({
      id: this.name,
      deployment_id: version.id,
      tag: 't',
      startup_time_ms: 5,
      handlers: ['fetch'],
      has_assets: false,
    });
  }

  /** Uploads a version that is not deployed yet. */
  uploadVersion({ metadata, files }: ReturnType<typeof metadataOf>): ApiResponse {
    const { bindings, annotations } = metadata;
    const { id, number } = this.#addVersion({ bindings, annotations, files }, false);
    return result({
      ...this.version(id),
      number,
      startup_time_ms: 5,
      metadata: { has_preview: false, ...MADE },
    });
  }

  /** Putting a secret makes a new version, which is deployed. */
  putSecret({ name, text }: Record<string, unknown>): ApiResponse {
    const last = this.versions.at(-1);
    if (last !== undefined && last.id !== this.current.id) {
      throw new ApiFault(400, 10215, 'Secret edit failed: the latest version is not deployed');
    }
    this.#secrets = { ...this.#secrets, [String(name)]: String(text) };
    if (last !== undefined) this.#addVersion({ ...last, annotations: {} });
    return result({ name, type: 'secret_text' });
  }

  /** A rollback deploys an earlier version, with the secrets that it had. */
  deploy(body: Record<string, unknown>): ApiResponse {
    const schema = z.object({
      versions: z.array(z.object({ version_id: z.string(), percentage: z.number() })).min(1),
    });
    const parsed = schema.safeParse(body);
    if (!parsed.success) throw new ApiFault(400, 10021, 'versions are required');
    const [first] = parsed.data.versions;
    this.#secrets = { ...this.version(first?.version_id).secrets };
    return result(this.#serve(parsed.data.versions));
  }

  #serve(versions: { version_id: string; percentage: number }[]): object {
    this.deployedAt = performance.now();
    const deployment = { id: randomUUID(), versions, ...MADE };
    this.deployments.unshift(deployment);
    return deployment;
  }

  #addVersion(
    made: Pick<Version, 'bindings' | 'annotations' | 'files'>,
    isDeployed = true,
  ): Version {
    const version = {
      ...made,
      id: randomUUID(),
      number: this.versions.length + 1,
      secrets: { ...this.#secrets },
    };
    this.versions.push(version);
    if (isDeployed) this.#serve([{ version_id: version.id, percentage: 100 }]);
    return version;
  }
}
