<?php

declare(strict_types=1);

namespace Relata;

use Generator;

/** Updates, lookup and export of products (docs/interface §4.2 to §4.6). */
final class Products
{
    /** As many as a lookup takes (docs/interface §8). */
    private const LOOKED_UP = 1_000;

    public function __construct(private readonly Transport $transport, private readonly Tasks $tasks)
    {
    }

    /**
     * Makes the catalog what is given: products that are not in it are deleted. Sends batches as the products come, and
     * holds one batch in memory, packed.
     *
     * @param iterable<mixed> $products in upload shape (docs/interface §2.3)
     * @param (callable(array<string, mixed>): bool)|null $confirm gets what the commit would do; false leaves the catalog as it is
     * @param (callable(int): void)|null $onBatch gets the number of products sent so far
     * @param int|null $allowDeletes exactly how many products may be deleted, to pass the delete guard
     * @param string|null $onInvalid refuse or skip; the project's setting if it is left out
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
     * Sends products of a full update, step 2 of 3, in as many batches as they need.
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
     * What the commit of the open full update would do.
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
     * @param int|null $batches how many were accepted; refused when the service has another number
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
     * Gives the open full update up.
     *
     * @return array<string, mixed>
     */
    public function giveUpFullUpdate(?int $projectId = null): array
    {
        return $this->transport->write('DELETE', '/products/batch', compact('projectId'));
    }

    /**
     * Replaces everything about each product, or creates it: an incremental update, in as many requests as it needs.
     *
     * @param iterable<mixed> $products in upload shape (docs/interface §2.3)
     * @param string|null $idempotencyKey names the update, so that a job that is run again does nothing twice
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
     * Changes what is named and nothing else: a partial update, in as many requests as it needs.
     *
     * @param iterable<mixed> $products their identifiers, and what changes
     * @param string|null $idempotencyKey names the update, so that a job that is run again does nothing twice
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
     * Deletes products, in as many requests as it needs.
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
     * The products found, in the order of the identifiers; asks for 1,000 at a time.
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
     * @throws RelataException 404 where there is none
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
     * The whole catalog in upload shape, as it arrives.
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
