# Recollect on a cluster that Flux keeps in step with git: Flux applies one of the overlays in deploy/kustomize, with
# the values of this module.

terraform {
  required_version = ">= 1.9"
  required_providers {
    kubernetes = {
      source  = "hashicorp/kubernetes"
      version = ">= 2.35"
    }
  }
}

locals {
  host_patch = yamlencode([
    {
      op    = "replace"
      path  = "/spec/template/spec/containers/0/env/3/value"
      value = "${var.host},recollect-server"
    },
    {
      op    = "replace"
      path  = "/spec/template/spec/containers/0/env/4/value"
      value = join(",", var.trusted_proxies)
    },
  ])
  backup_patch = yamlencode([
    {
      op    = "replace"
      path  = "/spec/backup/barmanObjectStore/destinationPath"
      value = var.backup_destination
    },
    {
      op    = "replace"
      path  = "/spec/storage/size"
      value = var.storage_size
    },
  ])
}

resource "kubernetes_manifest" "source" {
  manifest = {
    apiVersion = "source.toolkit.fluxcd.io/v1"
    kind       = "GitRepository"
    metadata = {
      name      = "recollect"
      namespace = var.flux_namespace
    }
    spec = {
      interval = "10m"
      url      = var.repository
      ref      = { tag = var.release }
    }
  }
}

resource "kubernetes_manifest" "recollect" {
  manifest = {
    apiVersion = "kustomize.toolkit.fluxcd.io/v1"
    kind       = "Kustomization"
    metadata = {
      name      = "recollect"
      namespace = var.flux_namespace
    }
    spec = {
      interval = "10m"
      timeout  = "10m"
      prune    = false
      wait     = true
      path     = "./deploy/kustomize/${var.overlay}"
      sourceRef = {
        kind = "GitRepository"
        name = kubernetes_manifest.source.manifest.metadata.name
      }
      images = [
        {
          name    = "recollect"
          newName = var.image
          newTag  = var.image_tag
        },
      ]
      patches = [
        {
          target = { kind = "Deployment", name = "recollect-server" }
          patch  = local.host_patch
        },
        {
          target = { kind = "Cluster", name = "recollect-db" }
          patch  = local.backup_patch
        },
      ]
    }
  }
}
