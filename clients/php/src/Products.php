<?php

declare(strict_types=1);

namespace Relata;

use Generator;

/** Updates, lookup and export of products (docs/interface §4.2 to §4.6). */
final class Products
{
    /** The maximum of identifiers in a lookup (docs/interface §8). */
    private const LOOKED_UP = 1_000;

    public function __construct(private readonly Transport $transport, private readonly Tasks $tasks)
    {
    }

    /**
     * Makes the catalog equal to the given products: other products are deleted. Sends batches as the products arrive,
     * and keeps one packed batch in memory.
     *
     * @param iterable<mixed> $products in upload form (docs/interface §2.3)
     * @param (callable(array<string, mixed>): bool)|null $confirm gets the preview of the commit; false leaves the catalog unchanged
     * @param (callable(int): void)|null $onBatch gets the number of products sent so far
     * @param int|null $allowDeletes the exact number of products that may be deleted, to override the delete guard
     * @param string|null $onInvalid refuse or skip; default: the project's setting
     * @throws RelataException
     */
    public function fullUpdate(
        iterable $products,
        ?int $projectId = null,
        ?callable $confirm = null,
        ?callable $onBatch = null,
        ?int $allowDeletes = null,
        ?string $onInvalid = null,
    ): FullUpdateResult {
        $fullUpdateId = $this->initiate($projectId)['fullUpdateId'];
        $sent = 0;
        $batches = 0;
        foreach (Body::inBatches('products', $products) as $body) {
            $query = compact('projectId', 'fullUpdateId', 'onInvalid');
            $this->transport->write('POST', '/products/batch/upload', $query, $body);
            $batches += 1;
            $sent += $body->count;
            $onBatch === null || $onBatch($sent);
        }
        if ($confirm !== null && !$confirm($this->preview($projectId, $fullUpdateId))) {
            return new FullUpdateResult($fullUpdateId, $sent, null);
        }
        $task = $this->start($projectId, $fullUpdateId, $allowDeletes, $batches)['data']['task'];

        return new FullUpdateResult($fullUpdateId, $sent, $this->tasks->wait($task['id']));
    }

    /**
     * Opens a full update, step 1 of 3.
     *
     * @return array<string, mixed>
     */
    public function initiate(?int $projectId = null): array
    {
        return $this->transport->write('POST', '/products/batch/initiate', compact('projectId'));
    }

    /**
     * Sends products of a full update, step 2 of 3, in as many batches as needed.
     *
     * @param iterable<mixed> $products
     * @return list<array<string, mixed>> the answer to each batch
     */
    public function upload(
        iterable $products,
        ?int $projectId = null,
        ?int $fullUpdateId = null,
        ?string $onInvalid = null,
    ): array {
        $query = compact('projectId', 'fullUpdateId', 'onInvalid');

        return $this->send('/products/batch/upload', $query, 'products', $products);
    }

    /**
     * The effect that a commit of the open full update would have.
     *
     * @return array<string, mixed>
     */
    public function preview(?int $projectId = null, ?int $fullUpdateId = null): array
    {
        return $this->transport->write('POST', '/products/batch/preview', compact('projectId', 'fullUpdateId'));
    }

    /**
     * Commits the open full update, step 3 of 3.
     *
     * @param int|null $batches the number of accepted batches; refused if the service has another number
     * @return array<string, mixed> with the task in data.task
     */
    public function start(
        ?int $projectId = null,
        ?int $fullUpdateId = null,
        ?int $allowDeletes = null,
        ?int $batches = null,
    ): array {
        $query = compact('projectId', 'fullUpdateId', 'allowDeletes', 'batches');

        return $this->transport->write('POST', '/products/batch/start', $query);
    }

    /**
     * Discards the open full update.
     *
     * @return array<string, mixed>
     */
    public function giveUpFullUpdate(?int $projectId = null): array
    {
        return $this->transport->write('DELETE', '/products/batch', compact('projectId'));
    }

    /**
     * An incremental update: creates each product or replaces it completely, in as many requests as needed.
     *
     * @param iterable<mixed> $products in upload form (docs/interface §2.3)
     * @param string|null $idempotencyKey names the update, so that a repeated job does nothing twice
     * @return list<array<string, mixed>> the answer to each request, with its task
     * @throws RelataException
     */
    public function replace(
        iterable $products,
        ?int $projectId = null,
        ?string $onInvalid = null,
        ?string $idempotencyKey = null,
    ): array {
        $query = compact('projectId', 'onInvalid');

        return $this->send('/products', $query, 'products', $products, $idempotencyKey);
    }

    /**
     * A partial update: changes only the named fields and attributes, in as many requests as needed.
     *
     * @param iterable<mixed> $products their identifiers and changes
     * @param string|null $idempotencyKey names the update, so that a repeated job does nothing twice
     * @return list<array<string, mixed>> the answer to each request, with its task
     * @throws RelataException
     */
    public function change(
        iterable $products,
        ?int $projectId = null,
        ?string $onInvalid = null,
        ?string $idempotencyKey = null,
    ): array {
        $query = ['partial' => 'true'] + compact('projectId', 'onInvalid');

        return $this->send('/products', $query, 'products', $products, $idempotencyKey);
    }

    /**
     * Deletes products, in as many requests as needed.
     *
     * @param iterable<string> $identifiers
     * @return list<array<string, mixed>> the answer to each request, with its task
     * @throws RelataException
     */
    public function delete(iterable $identifiers, ?int $projectId = null, ?string $idempotencyKey = null): array
    {
        $path = '/products/delete';

        return $this->send($path, compact('projectId'), 'identifiers', $identifiers, $idempotencyKey);
    }

    /**
     * Undoes the last commit or delete.
     *
     * @return array<string, mixed>
     */
    public function restore(?int $projectId = null): array
    {
        return $this->transport->write('POST', '/products/batch/restore', compact('projectId'));
    }

    /**
     * The found products, in the order of the identifiers. Each request has 1,000 identifiers.
     *
     * @param list<string> $identifiers
     * @return list<array<string, mixed>>
     * @throws RelataException
     */
    public function lookUp(array $identifiers, ?int $projectId = null): array
    {
        $found = [];
        foreach (array_chunk($identifiers, self::LOOKED_UP) as $some) {
            $body = Body::of(['identifiers' => $some]);
            $path = '/product-service/products-by-sku';
            $answer = $this->transport->read('POST', $path, compact('projectId'), $body);
            array_push($found, ...$answer['products']);
        }

        return $found;
    }

    /**
     * @return array<string, mixed>
     * @throws RelataException 404 if the product does not exist
     */
    public function lookUpOne(string $identifier, ?int $projectId = null): array
    {
        $query = compact('identifier', 'projectId');

        return $this->transport->read('GET', '/product-service/product-by-sku', $query);
    }

    /**
     * A page of products by words and filters, with total and facets (docs/interface §4.13).
     *
     * @param array<string, mixed>|string|null $filter
     * @param list<string>|null $category the top of a category path
     * @return array<string, mixed>
     */
    public function search(
        ?string $q = null,
        array|string|null $filter = null,
        ?array $category = null,
        ?string $sort = null,
        ?int $limit = null,
        ?string $cursor = null,
        ?int $projectId = null,
    ): array {
        $filter = is_array($filter) ? json_encode($filter, JSON_THROW_ON_ERROR) : $filter;
        $category = $category === null ? null : json_encode($category, JSON_THROW_ON_ERROR);
        $query = compact('q', 'filter', 'category', 'sort', 'limit', 'cursor', 'projectId');

        return $this->transport->read('GET', '/search/products', $query);
    }

    /**
     * The whole catalog in upload form, as it arrives.
     *
     * @return Generator<int, array<string, mixed>>
     */
    public function export(int $projectId): Generator
    {
        return $this->transport->lines("/management/projects/$projectId/products", ['format' => 'ndjson']);
    }

    /**
     * @param array<string, mixed> $query
     * @param iterable<mixed> $items
     * @return list<array<string, mixed>> the answer to each batch
     */
    private function send(
        string $path,
        array $query,
        string $member,
        iterable $items,
        ?string $idempotencyKey = null,
    ): array {
        $answers = [];
        foreach (Body::inBatches($member, $items) as $body) {
            $key = $idempotencyKey === null ? null : $idempotencyKey . '-' . count($answers);
            $answers[] = $this->transport->write('POST', $path, $query, $body, $key);
        }

        return $answers;
    }
}
